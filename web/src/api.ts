import type * as A from "./answers";
import { type EdgeEnds, type EdgeQuery, Refusal, type Source, type View } from "./source";

type Value = string | number | boolean | string[] | null;

function query(values: Record<string, Value>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const one of value) parameters.append(name, one);
    else if (value !== null && value !== "" && value !== false) parameters.append(name, String(value));
  }
  return parameters.toString();
}

async function answer<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  let error: { message?: string; remedy?: string | null } = {};
  try {
    error = ((await response.json()) as { error: typeof error }).error;
  } catch {
    // not ours: a proxy, or a server that is gone
  }
  throw new Refusal(error.message ?? `the server answered ${response.status}`, error.remedy ?? null, response.status);
}

async function reach(address: string, options?: RequestInit): Promise<Response> {
  try {
    return await fetch(address, options);
  } catch {
    throw new Refusal("the explorer does not answer", "Is `lakebed ui` still running? Start it again.", 0);
  }
}

async function get<T>(path: string, values: Record<string, Value> = {}): Promise<T> {
  const text = query(values);
  return answer<T>(await reach(`/api/${path}${text ? `?${text}` : ""}`));
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const headers = { "content-type": "application/json" };
  return answer<T>(await reach(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** Answers of the server that has served this page. */
export const apiSource: Source = {
  welcome: () => get<A.Welcome>("welcome"),
  project: (analysis) => get<A.ProjectSummary>("project", { analysis }),
  analyse: (drafts, tables, dialect) =>
    post<A.ProjectSummary>("analyses", {
      drafts: Object.entries(drafts).map(([file, sql]) => ({ file, sql })),
      tables,
      dialect,
    }),
  file: (analysis, file) => get<A.FileText>("file", { analysis, file }),
  neighbourhood: (analysis, view: View) => get<A.Neighbourhood>("neighbourhood", { analysis, ...view }),
  overview: (analysis) => get<A.Overview>("overview", { analysis }),
  edges: (analysis, asked: EdgeQuery) => get<A.EdgeRows>("edges", { analysis, ...asked }),
  matrix: (analysis) => get<A.Matrix>("matrix", { analysis }),
  search: (analysis, text) => get<A.SearchAnswer>("search", { analysis, text }),
  places: async (analysis, edge: EdgeEnds) =>
    (
      await get<{ places: A.EdgePlace[] }>("places", {
        analysis,
        source: edge.source,
        source_column: edge.source_column,
        target: edge.target,
        target_column: edge.target_column,
      })
    ).places,
  schema: (analysis) => get<A.SchemaAnswer>("schema", { analysis }),
  schemaExport: (analysis, view) => get<unknown>("schema/export", { analysis, view }),
  schemaImport: async (address) => (await post<{ tables: A.ImportedTable[] }>("schema/import", { address })).tables,
  impact: (analysis, changes) => get<A.Impact>("impact", { analysis, ...changes }),
  status: () => get<A.Status>("status"),
  tables: async () => (await get<{ tables: string[] }>("tables")).tables,
  sums: (load) => {
    const { table, payer, report, period, delivery } = load;
    return get<A.LoadSums>("sums", { table, payer, report, period, delivery });
  },
  history: (table) => get<A.History>("history", { table }),
  columns: (table) => get<A.ColumnsOverTime>("columns", { table }),
  amounts: (table, measure, by) => get<A.Amounts>("amounts", { table, measure, by }),
};
