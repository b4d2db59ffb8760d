/** Turns a cited path into a file inside a folder, or refuses it. */
import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";

/** The file, or why it is not opened. An answer is written by a model: it may name any path, so links are followed first. */
export async function locate(folder: string, path: string): Promise<{ file: string } | { problem: string }> {
  const file = resolve(folder, path);
  const outside = { problem: `${path} lies outside the folder and is not opened.` };
  if (!isInside(folder, file)) return outside;
  try {
    const [realFolder, realFile] = await Promise.all([realpath(folder), realpath(file)]);
    return isInside(realFolder, realFile) ? { file } : outside;
  } catch {
    return { problem: `${path} is not there: it was moved, or the answer is wrong.` };
  }
}

function isInside(folder: string, file: string): boolean {
  const way = relative(folder, file);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
