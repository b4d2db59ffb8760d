/** Drawings that say something: what the chat is for, how much of a file was read, what a branch knows and what time it has. Their colours are in the style sheet. */
import type { BranchHistory } from "#protocol";


const SPACE = "http://www.w3.org/2000/svg";

/** An answer, and the line of a file that it names. */
export function introduction(): SVGSVGElement {
  const drawing = svg(240, 84, "introduction");
  drawing.append(
    part("rect", "frame", { x: 1, y: 6, width: 92, height: 72, rx: 5 }),
    ...[20, 32, 44, 56].flatMap((y, at) => {
      const isCited = y === 44;
      const length = [34, 52, 58, 24][at] ?? 0;
      const mark = part("rect", "mark", { x: 2, y: 38, width: 90, height: 12 });
      return [...(isCited ? [mark] : []), part("path", isCited ? "cited" : "line", { d: `M12 ${y}h6M${24 + (at % 3) * 6} ${y}h${length - (at % 3) * 6}` })];
    }),
    part("path", "way", { d: "M170 58C140 76 122 44 100 44" }),
    part("path", "tip", { d: "M105 40.5 99.500 44 105 47.5" }),
    part("path", "frame", { d: "M143 16h91a5 5 0 0 1 5 5v36a5 5 0 0 1-5 5h-70l-10 9v-9h-11a5 5 0 0 1-5-5V21a5 5 0 0 1 5-5z" }),
    part("path", "line", { d: "M150 30h66M150 42h38" }),
    part("path", "cited", { d: "M170 53h44" }),
  );
  return drawing;
}

/** Which part of a file was read. */
export function extent(first: number, last: number, total: number): SVGSVGElement {
  const [width, height] = [32, 6];
  const drawing = svg(width, height, "extent");
  const all = Math.max(total, last, 1);
  const from = (width * (first - 1)) / all;
  const length = Math.max(2, (width * (last - first + 1)) / all);
  drawing.append(
    part("rect", "track", { x: 0, y: 0, width, height, rx: 2 }),
    part("rect", "read", { x: Math.min(from, width - length), y: 0, width: length, height, rx: 2 }),
  );
  return drawing;
}

/** What a branch knows of the session, whose way comes from the left: nothing, its turns, or its turns and the last steps. */
export function history(kind: BranchHistory): SVGSVGElement {
  const drawing = svg(32, 10, "history");
  const isFresh = kind === "fresh";
  drawing.append(part("path", isFresh ? "unknown" : "known", { d: kind === "mid-fork" ? "M1 5h11" : "M1 5h20" }));
  if (kind === "mid-fork") drawing.append(part("rect", "window", { x: 12, y: 1.5, width: 9, height: 7, rx: 1.5 }), part("path", "steps", { d: "M14.5 5h1M17.5 5h1" }));
  drawing.append(part("path", "way", { d: isFresh ? "M26 5h5" : "M21 5h10" }), part("circle", "own", { cx: 26, cy: 5, r: 2.5 }));
  return drawing;
}

/** The part of its time that is left, and how to change it. */
export function timeLeft(): { element: SVGSVGElement; show(share: number): void } {
  const [width, height] = [48, 4];
  const element = svg(width, height, "time-left");
  const left = part("rect", "left", { x: 0, y: 0, width, height, rx: 2 });
  element.append(part("rect", "track", { x: 0, y: 0, width, height, rx: 2 }), left);
  return { element, show: (share) => left.setAttribute("width", (width * Math.min(1, Math.max(0, share))).toFixed(1)) };
}

/** For the eye only: the words beside it say the same. */
function svg(width: number, height: number, name: string): SVGSVGElement {
  const element = document.createElementNS(SPACE, "svg");
  element.setAttribute("viewBox", `0 0 ${width} ${height}`);
  element.setAttribute("class", `drawing ${name}`);
  element.setAttribute("aria-hidden", "true");
  return element;
}

function part(kind: "circle" | "path" | "rect", name: string, attributes: Record<string, number | string>): SVGElement {
  const element = document.createElementNS(SPACE, kind);
  element.setAttribute("class", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
