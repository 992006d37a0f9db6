import { useEffect } from "react";
import { useAsk } from "../ask";
import { shorten } from "../names";
import { Problem } from "../Problem";
import type { Source } from "../source";

/** The loaded tables to choose from; the first is chosen until somebody does. */
export function TableChoice({ source, chosen, onChoose }: { source: Source; chosen: string; onChoose(table: string): void }) {
  const tables = useAsk("tables", () => source.tables());
  const first = tables.data?.[0];
  useEffect(() => {
    if (!chosen && first) onChoose(first);
  }, [chosen, first, onChoose]);
  if (tables.error) return <Problem error={tables.error} />;
  if (tables.data?.length === 0) return null;
  return (
    <select aria-label="table" value={chosen} onChange={(event) => onChoose(event.target.value)}>
      {tables.data?.map((table) => (
        <option key={table} value={table} title={table}>
          {shorten(table, 36)}
        </option>
      ))}
    </select>
  );
}

export function NothingLoaded() {
  return (
    <div className="empty">
      <h2>No table was loaded yet</h2>
      <p>This loads billing deliveries into a table:</p>
      <pre>
        <code>lakebed run SOURCE --target duckdb:costs.duckdb</code>
      </pre>
    </div>
  );
}
