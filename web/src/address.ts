/** What is looked at, in the part of the address behind `#`: links restore it, and back and forward work. */

import { useCallback, useSyncExternalStore } from "react";
import type { View } from "./source";

export type Page = "lineage" | "schema" | "deliveries" | "columns" | "costs" | "impact";
export type Mode = "graph" | "overview" | "list" | "matrix";

export interface Address extends View {
  page: Page;
  mode: Mode;
  file: string;
  search: string;
  tab: string;
  /** the graph alone, without the SQL beside it */
  wide: boolean;
}

export const START: Address = {
  page: "lineage",
  mode: "graph",
  file: "",
  search: "",
  tab: "",
  wide: false,
  table: [],
  column_table: "",
  column: "",
  up: 1,
  down: 1,
  only: false,
  predicates: false,
  expanded: [],
  whole: [],
  grown_up: [],
  grown_down: [],
  hidden: [],
  group: "none",
  opened: [],
  detail: "auto",
};

const PAGES: Page[] = ["lineage", "schema", "deliveries", "columns", "costs", "impact"];

export function readAddress(hash: string): Address {
  const [path = "", text = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const given = new URLSearchParams(text);
  const read: Record<string, unknown> = { ...START };
  for (const [name, start] of Object.entries(START)) {
    if (name === "page" || !given.has(name)) continue;
    const value = given.get(name) ?? "";
    if (Array.isArray(start)) read[name] = given.getAll(name);
    else if (typeof start === "number") read[name] = Math.max(0, Math.min(50, Number.parseInt(value, 10) || 0));
    else if (typeof start === "boolean") read[name] = value === "true";
    else read[name] = value;
  }
  read.page = PAGES.find((page) => page === path) ?? "lineage";
  return read as unknown as Address;
}

export function writeAddress(address: Address): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(address)) {
    const start = START[name as keyof Address];
    if (name === "page") continue;
    if (Array.isArray(value)) for (const one of value) given.append(name, one);
    else if (value !== start) given.append(name, String(value));
  }
  const text = given.toString();
  return `#/${address.page}${text ? `?${text}` : ""}`;
}

let known = { hash: "\0", address: START };

function snapshot(): Address {
  if (known.hash !== location.hash) known = { hash: location.hash, address: readAddress(location.hash) };
  return known.address;
}

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  addEventListener("popstate", listener);
  return () => {
    removeEventListener("hashchange", listener);
    removeEventListener("popstate", listener);
  };
}

export type Go = (change: Partial<Address>, replace?: boolean) => void;

/** The address, and a way to change a part of it. */
export function useAddress(): [Address, Go] {
  const address = useSyncExternalStore(subscribe, snapshot);
  const go = useCallback<Go>((change, replace = false) => {
    const hash = writeAddress({ ...snapshot(), ...change });
    if (hash === location.hash) return;
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    dispatchEvent(new PopStateEvent("popstate"));
  }, []);
  return [address, go];
}
