/** Builds elements. Text only ever becomes text: nothing here or elsewhere in the view parses HTML. */

/** What an element may be given. Attributes are few on purpose. */
export interface Properties {
  class?: string;
  title?: string;
  role?: string;
  label?: string;
  /** How a screen reader hears of changes inside. */
  live?: "off" | "polite";
  onclick?: (event: MouseEvent) => void;
}

/** An element of one kind with its children. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  const { class: names, title, role, label, live, onclick } = properties;
  if (names) element.className = names;
  if (title) element.title = title;
  if (role) element.setAttribute("role", role);
  if (label) element.setAttribute("aria-label", label);
  if (live) element.setAttribute("aria-live", live);
  if (onclick) element.addEventListener("click", (event) => onclick(event as MouseEvent));
  if (tag === "button") element.setAttribute("type", "button");
  element.append(...children);
  return element;
}

/** The drawings that the view uses, each one path in a square of 16. */
const DRAWINGS = {
  agent: "M3 6h10v7H3zM8 6V3M6 9.2v.6M10 9.2v.6M6.5 2.5h3",
  arrow: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  auto: "M13 8.500a5 5 0 1 1-1.600-4.200M11.700 1.800v2.700H9M8 7a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3z",
  back: "M13 8H3M7.5 3.5 3 8l4.5 4.5",
  check: "M3 8.5 6.5 12 13 4.5",
  chevron: "M6 3.5 10.5 8 6 12.5",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  file: "M9 1.5H3.5v13h9V5zM9 1.5V5h3.5",
  folder: "M1.5 3.5h5l1.5 2h6.5v8h-13z",
  fork: "M2 8h3.5l4-5H14M5.5 8H14M5.5 8l4 5H14",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.1M2.5 8h.1M2.5 12h.1",
  offline: "M8 1.5 13.5 4v4c0 3-2.3 5.4-5.5 6.5C4.8 13.4 2.5 11 2.5 8V4zM5.5 8l2 2 3-3.5",
  review: "M1.5 8C3 5 5.300 3.500 8 3.500S13 5 14.500 8C13 11 10.700 12.500 8 12.500S3 11 1.500 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3.5 3.5",
  spark: "M8 2v3M8 11v3M2 8h3M11 8h3M4 4l1.5 1.5M10.5 10.5 12 12M12 4l-1.5 1.5M5.5 10.5 4 12",
  stop: "M4.5 4.5h7v7h-7z",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.1",
} as const;

/** The name of a drawing. */
export type IconName = keyof typeof DRAWINGS;

/** A drawing in the colour of the text around it. */
export function icon(name: IconName): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", DRAWINGS[name]);
  svg.append(path);
  return svg;
}
