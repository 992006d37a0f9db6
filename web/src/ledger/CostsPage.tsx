import { useCallback } from "react";
import type { Address, Go } from "../address";
import type { AmountRow } from "../answers";
import { useAsk } from "../ask";
import { downloadText, toCsv } from "../download";
import { shorten } from "../names";
import { Problem } from "../Problem";
import type { Source } from "../source";
import { difference, grouped } from "./money";
import { NothingLoaded, TableChoice } from "./TableChoice";

/** What a bill adds up to, by month and by any column of it. Shown to the cent; copies and tooltips have every digit. */
export function CostsPage({ source, address, go }: { source: Source; address: Address; go: Go }) {
  const [table = "", measure = "", by = ""] = address.tab.split("\u0001");
  const change = (one: { table?: string; measure?: string; by?: string }) =>
    go({ tab: [one.table ?? table, one.measure ?? measure, one.by ?? by].join("\u0001") });
  const choose = useCallback((chosen: string) => go({ tab: chosen }, true), [go]);
  const asked = useAsk(table ? `amounts ${address.tab}` : null, () => source.amounts(table, measure, by));
  const data = asked.data;
  const usual = data?.dimensions.filter((name) => /product_code|service|account_id|subaccount|region|tag/i.test(name)) ?? [];
  const save = () => {
    if (!data) return;
    const line = (name: string | null, row: AmountRow) => [name, row.currency, ...row.sums, row.total];
    const body = [...data.rows.map((row) => line(row.value, row)), ...data.totals.map((row) => line("total", row))];
    downloadText("amounts.csv", "text/csv", toCsv([[data.by ?? "all", "currency", ...data.periods, "total"], ...body]));
  };
  const cells = (sums: string[]) =>
    sums.map((sum, place) => {
      const before = sums[place - 1];
      const change = before === undefined ? null : difference(sum, before);
      return (
        <td key={place} className="right" title={change === null ? sum : `${sum}; ${change.startsWith("-") ? "" : "+"}${change} to the month before`}>
          {grouped(sum)}
        </td>
      );
    });
  return (
    <div className="page">
      <header className="page-head">
        <h1>Costs</h1>
        <TableChoice source={source} chosen={table} onChoose={choose} />
        {data && (
          <>
            <label>
              sum of{" "}
              <select aria-label="amount" value={data.measure} onChange={(event) => change({ measure: event.target.value })}>
                {data.measures.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <label>
              by{" "}
              <select aria-label="by" value={data.by ?? ""} onChange={(event) => change({ by: event.target.value })}>
                <option value="">month alone</option>
                {usual.length > 0 && (
                  <optgroup label="usual">
                    {usual.map((name) => (
                      <option key={name}>{name}</option>
                    ))}
                  </optgroup>
                )}
                <optgroup label="every column">
                  {data.dimensions
                    .filter((name) => !usual.includes(name))
                    .map((name) => (
                      <option key={name}>{name}</option>
                    ))}
                </optgroup>
              </select>
            </label>
            <button type="button" onClick={save}>
              CSV
            </button>
            <button type="button" className="link" onClick={() => go({ page: "deliveries", tab: "" })}>
              where the numbers come from
            </button>
          </>
        )}
      </header>
      {asked.error && <Problem error={asked.error} />}
      {!table && <NothingLoaded />}
      {table && asked.loading && !data && <div className="loading" role="status">Adding up…</div>}
      {data && (
        <div className="page-body" tabIndex={0} role="region" aria-label="amounts">
          <table className="numbers">
            <thead>
              <tr>
                <th>{data.by ?? "all"}</th>
                <th>currency</th>
                {data.periods.map((period) => (
                  <th key={period} className="right">
                    {period}
                  </th>
                ))}
                <th className="right">total</th>
              </tr>
            </thead>
            <tbody>
              {data.by !== null &&
                data.rows.map((row) => (
                  <tr key={JSON.stringify([row.value, row.currency])}>
                    <td title={row.value ?? ""}>
                      {row.value === null ? <span className="quiet">no value</span> : shorten(row.value, 48) || <span className="quiet">empty</span>}
                    </td>
                    <td>{row.currency}</td>
                    {cells(row.sums)}
                    <td className="right" title={row.total}>
                      {grouped(row.total)}
                    </td>
                  </tr>
                ))}
              {data.rest > 0 && (
                <tr>
                  <td className="quiet" colSpan={data.periods.length + 3}>
                    and {data.rest} further values, which are in the totals
                  </td>
                </tr>
              )}
              {data.totals.map((row) => (
                <tr key={row.currency ?? ""} className="total">
                  <td>total</td>
                  <td>{row.currency}</td>
                  {cells(row.sums)}
                  <td className="right" title={row.total}>
                    {grouped(row.total)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}
