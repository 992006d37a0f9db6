import type * as A from "./answers";

/** Which part of the lineage is wanted. */
export interface View {
  table: string[];
  column_table: string;
  column: string;
  up: number;
  down: number;
  only: boolean;
  predicates: boolean;
  expanded: string[];
  whole: string[];
  grown_up: string[];
  grown_down: string[];
  hidden: string[];
  group: "none" | "folder" | "schema";
  opened: string[];
  detail: "auto" | "tables" | "columns";
}

export interface EdgeQuery {
  search: string;
  sort: "statement" | "source" | "target" | "role";
  descending: boolean;
  offset: number;
  limit: number;
}

export interface EdgeEnds {
  source: string;
  source_column: string | null;
  target: string;
  target_column: string | null;
}

/** Where answers come from: the server, or the data in a page that stands alone. */
export interface Source {
  welcome(): Promise<A.Welcome>;
  project(analysis: string): Promise<A.ProjectSummary>;
  analyse(drafts: Record<string, string>, tables: A.ImportedTable[], dialect: string): Promise<A.ProjectSummary>;
  file(analysis: string, file: string): Promise<A.FileText>;
  neighbourhood(analysis: string, view: View): Promise<A.Neighbourhood>;
  overview(analysis: string): Promise<A.Overview>;
  edges(analysis: string, query: EdgeQuery): Promise<A.EdgeRows>;
  matrix(analysis: string): Promise<A.Matrix>;
  search(analysis: string, text: string): Promise<A.SearchAnswer>;
  places(analysis: string, edge: EdgeEnds): Promise<A.EdgePlace[]>;
  schema(analysis: string): Promise<A.SchemaAnswer>;
  schemaExport(analysis: string, view: string): Promise<unknown>;
  schemaImport(address: string): Promise<A.ImportedTable[]>;
  impact(analysis: string, changes: Record<string, string[]>): Promise<A.Impact>;
  status(): Promise<A.Status>;
  tables(): Promise<string[]>;
  sums(load: A.LoadRow): Promise<A.LoadSums>;
  history(table: string): Promise<A.History>;
  columns(table: string): Promise<A.ColumnsOverTime>;
  amounts(table: string, measure: string, by: string): Promise<A.Amounts>;
}

/** A refusal with what to do about it. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly remedy: string | null,
    readonly status: number,
  ) {
    super(message);
  }
}
