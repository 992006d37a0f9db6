/** A name that is too long, cut in the middle: its end says as much as its beginning. */
export function shorten(name: string, most: number): string {
  if (name.length <= most) return name;
  const end = Math.floor((most - 1) / 2);
  return `${name.slice(0, most - 1 - end)}…${name.slice(name.length - end)}`;
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.split("/").at(-1) ?? path;
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

export const ROLES: Record<string, string> = {
  value: "flows into it",
  conditional: "is a condition of it",
  window: "orders or partitions it",
  filter: "decides which rows there are",
  join: "joins the rows",
  table: "is read for it",
};
