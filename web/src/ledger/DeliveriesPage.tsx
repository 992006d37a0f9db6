import { useEffect, useMemo, useState } from "react";
import type { DeliveryRow, LoadRow, Status } from "../answers";
import { useAsk } from "../ask";
import { count, shorten } from "../names";
import { Problem } from "../Problem";
import type { Source } from "../source";
import { exact } from "./money";

interface Line {
  delivery: DeliveryRow | null;
  load: LoadRow | null;
}

function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  let value = size;
  while (value >= 1000 && place < units.length - 1) {
    value /= 1000;
    place += 1;
  }
  return `${place ? value.toFixed(1) : value} ${units[place]}`;
}

function linesOf(status: Status): Line[] {
  const key = (row: { payer: string; report: string; period: string; delivery: string }) =>
    JSON.stringify([row.payer, row.report, row.period, row.delivery]);
  const loads = new Map<string, LoadRow[]>();
  for (const load of status.loads) loads.set(key(load), [...(loads.get(key(load)) ?? []), load]);
  const lines: Line[] = status.deliveries.flatMap((delivery): Line[] => {
    const found = loads.get(key(delivery)) ?? [];
    loads.delete(key(delivery));
    return found.length ? found.map((load) => ({ delivery, load })) : [{ delivery, load: null }];
  });
  for (const rest of loads.values()) lines.push(...rest.map((load) => ({ delivery: null, load })));
  return lines;
}

const MARKS: Record<string, string> = { loaded: "✓", failed: "✕", superseded: "↺", loading: "…", staging: "…" };

/** What was delivered and loaded, by payer, report and period; while something is under way it is asked again. */
export function DeliveriesPage({ source }: { source: Source }) {
  const [turn, setTurn] = useState(0);
  const status = useAsk(`status ${turn}`, () => source.status());
  const [chosen, setChosen] = useState<Line | null>(null);
  useEffect(() => {
    const timer = setInterval(() => setTurn((before) => before + 1), 2000);
    return () => clearInterval(timer);
  }, []);
  const groups = useMemo(() => {
    const found = new Map<string, Line[]>();
    for (const line of status.data ? linesOf(status.data) : []) {
      const row = line.load ?? line.delivery;
      if (!row) continue;
      const name = `${row.payer || "no payer"} · ${row.report}`;
      found.set(name, [...(found.get(name) ?? []), line]);
    }
    return found;
  }, [status.data]);
  if (status.error && !status.data) return <Problem error={status.error} />;
  if (status.data && groups.size === 0) {
    return (
      <div className="page">
        <header className="page-head">
          <h1>Deliveries</h1>
        </header>
        <div className="empty">
          <h2>Nothing was discovered or loaded yet</h2>
          <p>This fills the ledger, and the page shows it as it happens:</p>
          <pre>
            <code>lakebed run SOURCE --target duckdb:costs.duckdb</code>
          </pre>
        </div>
      </div>
    );
  }
  return (
    <div className="page">
      <header className="page-head">
        <h1>Deliveries</h1>
        {status.error && <span className="badge bad">{status.error.message}</span>}
      </header>
      <div className="deliveries">
        <div className="page-body" tabIndex={0} role="region" aria-label="deliveries">
          {[...groups].map(([name, lines]) => (
            <section key={name}>
              <h2 title={name}>{shorten(name, 70)}</h2>
              <table className="numbers">
                <thead>
                  <tr>
                    <th>period</th>
                    <th>delivery</th>
                    <th>state</th>
                    <th className="right">rows</th>
                    <th className="right">bytes</th>
                    <th className="right">seconds</th>
                    <th>adds up</th>
                    <th>table</th>
                  </tr>
                </thead>
                <tbody>
                  {lines.map((line, number) => {
                    const row = line.load ?? line.delivery;
                    if (!row) return null;
                    const state = line.load?.state ?? line.delivery?.state ?? "";
                    return (
                      <tr key={number} className={`${state} ${chosen?.load && chosen.load === line.load ? "chosen" : ""}`}>
                        <td>
                          <button type="button" className="link" onClick={() => setChosen(line)}>
                            {row.period}
                          </button>
                        </td>
                        <td title={row.delivery}>{shorten(row.delivery, 18)}</td>
                        <td>
                          <span className={`state ${state}`}>
                            {MARKS[state] ?? "·"} {state}
                          </span>
                          {line.load && !line.load.complete && <span className="badge doubt">incomplete</span>}
                          {row.work && <span className="quiet"> {row.work}</span>}
                        </td>
                        <td className="right">{line.load ? line.load.rows.toLocaleString("en") : ""}</td>
                        <td className="right" title={`${line.delivery?.size_bytes ?? ""}`}>
                          {line.delivery ? bytes(line.delivery.size_bytes) : ""}
                        </td>
                        <td className="right">{line.load ? line.load.seconds.toFixed(1) : ""}</td>
                        <td>
                          {line.load?.reconciled === true ? "✓ to the last digit" : line.load?.reconciled === false ? <span className="badge bad">✕ no</span> : ""}
                        </td>
                        <td title={line.load?.table}>{line.load ? shorten(line.load.table, 28) : ""}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
              {lines
                .map((line) => line.load?.error ?? line.delivery?.error)
                .filter((error): error is string => Boolean(error))
                .map((error, number) => (
                  <pre key={number} className="error-text">
                    {error}
                  </pre>
                ))}
            </section>
          ))}
        </div>
        {chosen?.load && <Sums key={JSON.stringify([chosen.load.table, chosen.load.delivery])} source={source} load={chosen.load} onClose={() => setChosen(null)} />}
      </div>
    </div>
  );
}

function Sums({ source, load, onClose }: { source: Source; load: LoadRow; onClose(): void }) {
  const sums = useAsk(JSON.stringify([load.table, load.payer, load.report, load.period, load.delivery, load.finished_at]), () => source.sums(load));
  const rows = sums.data;
  return (
    <aside className="details sums" tabIndex={0} aria-label="reconciliation">
      <button type="button" className="close" aria-label="close" onClick={onClose}>
        ×
      </button>
      <h2>
        {load.period}: what the source files sum up to, and the table
      </h2>
      {sums.error && <Problem error={sums.error} />}
      {rows && (
        <>
          <p>
            {rows.source_rows === null ? "" : `${count(rows.source_rows, "row")} in the source, `}
            {count(rows.table_rows, "row")} in the table
            {rows.rejected_rows > 0 && <span className="badge bad">{count(rows.rejected_rows, "row")} rejected</span>}
          </p>
          <table className="numbers">
            <thead>
              <tr>
                <th>column</th>
                <th>currency</th>
                <th className="right">source</th>
                <th className="right">table</th>
                <th className="right">difference</th>
              </tr>
            </thead>
            <tbody>
              {rows.sums.map((sum) => {
                const differs = /[1-9]/.test(sum.difference);
                return (
                  <tr key={`${sum.column}\0${sum.currency ?? ""}`} className={differs ? "differs" : ""}>
                    <td title={sum.column}>{shorten(sum.column, 34)}</td>
                    <td>{sum.currency ?? "all"}</td>
                    <td className="right">{exact(sum.source)}</td>
                    <td className="right">{exact(sum.table)}</td>
                    <td className="right">
                      {differs ? `✕ ${exact(sum.difference)}` : "0"}
                      {/[1-9]/.test(sum.rounded) && <span className="quiet"> rounded {exact(sum.rounded)}</span>}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          {rows.sums.length === 0 && <p className="quiet">No sums were recorded for this load.</p>}
        </>
      )}
    </aside>
  );
}
