import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useMemo, useRef } from "react";
import type { ColumnOverTime, Presence } from "../answers";
import type { Address, Go } from "../address";
import { useAsk } from "../ask";
import { downloadText, toCsv } from "../download";
import { count, shorten } from "../names";
import { Problem } from "../Problem";
import type { Source } from "../source";
import { NothingLoaded, TableChoice } from "./TableChoice";

const SIGNS: Record<Presence, string> = { there: "■", new: "✚", gone: "✕", back: "↺", retyped: "⇧", absent: "" };
const WORDS: Record<Presence, string> = {
  there: "there",
  new: "new",
  gone: "gone: no row has a value any more",
  back: "back",
  retyped: "has a wider type",
  absent: "no value",
};
const NAME = 560;
const CELL = 84;

/** Which column has values in which month; windowed both ways, so that 5,000 columns scroll like five. */
export function ColumnsPage({ source, address, go }: { source: Source; address: Address; go: Go }) {
  const table = address.tab;
  const choose = useCallback((tab: string) => go({ tab }, true), [go]);
  const asked = useAsk(table ? `columns ${table}` : null, () => source.columns(table));
  const scroller = useRef<HTMLDivElement>(null);
  const data = asked.data;
  const shown = useMemo(() => {
    const wanted = address.search.trim().toLowerCase();
    const columns = data?.columns ?? [];
    if (!wanted) return columns;
    return columns.filter((column) => [column.name, ...column.originals, ...column.states].some((text) => text.toLowerCase().includes(wanted)));
  }, [data, address.search]);
  const periods = data?.periods ?? [];
  const options = { getScrollElement: () => scroller.current, overscan: 10 };
  const rows = useVirtualizer({ ...options, count: shown.length, estimateSize: () => 26, paddingStart: 32 });
  const across = useVirtualizer({ ...options, count: periods.length, estimateSize: () => CELL, horizontal: true, paddingStart: NAME });
  const save = () => {
    const header = ["column", "original", "type", "first", "last", ...periods];
    const body = shown.map((column) => [column.name, column.originals.join(" "), column.type, column.first, column.last, ...column.states]);
    downloadText("columns.csv", "text/csv", toCsv([header, ...body]));
  };
  const share = (column: ColumnOverTime, place: number) => {
    const all = data?.rows[place] ?? 0;
    const values = column.values[place] ?? 0;
    return all ? `${values.toLocaleString("en")} of ${all.toLocaleString("en")} rows, ${(100 - (100 * values) / all).toFixed(1)} % NULL` : "";
  };
  return (
    <div className="page">
      <header className="page-head">
        <h1>Columns over time</h1>
        <TableChoice source={source} chosen={table} onChoose={choose} />
        <input type="search" aria-label="find a column" placeholder="Name, original name or new, gone, …" value={address.search} onChange={(event) => go({ search: event.target.value }, true)} />
        {data && (
          <>
            <span className="quiet">{count(shown.length, "column")}</span>
            <button type="button" onClick={save}>
              CSV
            </button>
          </>
        )}
      </header>
      {asked.error && <Problem error={asked.error} />}
      {!table && <NothingLoaded />}
      {table && asked.loading && !data && <div className="loading" role="status">Counting the values of every column…</div>}
      {data && (
        <div className="over-time" ref={scroller} tabIndex={0} role="region" aria-label="columns by period">
          <div style={{ height: rows.getTotalSize(), width: across.getTotalSize(), position: "relative" }}>
            <div className="over-time-head" style={{ width: across.getTotalSize() }}>
              <span className="over-time-name">
                <span>column</span>
                <span>in the source</span>
                <span>type</span>
              </span>
              {across.getVirtualItems().map((cell) => (
                <span key={cell.key} className="over-time-cell" style={{ left: cell.start }} title={count(data.rows[cell.index] ?? 0, "row")}>
                  {periods[cell.index]}
                </span>
              ))}
            </div>
            {rows.getVirtualItems().map((row) => {
              const column = shown[row.index];
              if (!column) return null;
              return (
                <div key={row.key} className="over-time-row" style={{ top: row.start, width: across.getTotalSize() }}>
                  <span className="over-time-name" title={`${column.name}: ${column.originals.join(", ")}; first seen ${column.first ?? "never"}, last ${column.last ?? "never"}`}>
                    <span>{shorten(column.name, 32)}</span>
                    <span className="quiet">{shorten(column.originals[0] ?? "", 26)}</span>
                    <span className="type">{shorten(column.type, 14)}</span>
                  </span>
                  {across.getVirtualItems().map((cell) => {
                    const state = column.states[cell.index] ?? "absent";
                    return (
                      <span key={cell.key} className={`over-time-cell presence ${state}`} style={{ left: cell.start }} title={`${periods[cell.index]}: ${WORDS[state]}; ${share(column, cell.index)}`}>
                        {SIGNS[state]} {state === "there" || state === "absent" ? "" : state}
                      </span>
                    );
                  })}
                </div>
              );
            })}
          </div>
        </div>
      )}
    </div>
  );
}
