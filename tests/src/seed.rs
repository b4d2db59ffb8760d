//! Random numbers that are the same in every run.

use std::time::Duration;

/// A linear congruential generator; the high bits are good enough to cut frames and pick moments.
#[derive(Clone, Debug)]
pub struct Seed(u64);

impl Seed {
    /// The sequence of one seed.
    pub fn new(seed: u64) -> Self {
        let mut seed = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            seed.next();
        }
        seed
    }

    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A number under `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A size of 1 to `most`.
    pub fn size(&mut self, most: usize) -> usize {
        let most = u64::try_from(most.max(1)).unwrap();
        usize::try_from(self.below(most) + 1).unwrap()
    }

    /// Passes some time without giving the processor away: up to `most`.
    pub fn spin(&mut self, most: Duration) {
        let most = u64::try_from(most.as_micros()).unwrap();
        let until = std::time::Instant::now() + Duration::from_micros(self.below(most));
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
    }

    /// Cuts bytes into pieces of 1 to `most`.
    pub fn cut<'a>(&mut self, bytes: &'a [u8], most: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(self.size(most).min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        pieces
    }
}
