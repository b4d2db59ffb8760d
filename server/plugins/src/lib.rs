//! The features: a folder or file each, and one line each in the table below. They use the spine's public
//! parts only, and none imports another.

mod offline;
