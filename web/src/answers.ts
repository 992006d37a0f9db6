/** What the API answers, as `lakebed.ui.openapi` describes it. */

export type Mark = "picked" | "up" | "down" | null;

export interface Welcome {
  version: string;
  dialect: string;
  dialects: string[];
  has_sql: boolean;
  target: string | null;
  live: boolean;
}

export interface FileEntry {
  name: string;
  statements: number;
  errors: number;
  warnings: number;
  rendered: boolean;
}

export interface Diagnostic {
  code: string;
  severity: "error" | "warning" | "info";
  message: string;
  hint: string;
  file: string | null;
  statement: number | null;
  start: number | null;
  end: number | null;
  line: number | null;
}

export interface ProjectSummary {
  analysis: string;
  dialect: string;
  statements: number;
  tables: number;
  columns: number;
  errors: number;
  warnings: number;
  infos: number;
  files: FileEntry[];
  diagnostics: Diagnostic[];
  has_sql: boolean;
}

export interface StatementEntry {
  index: number;
  type: string;
  table: string;
  start: number;
  end: number;
  line: number;
}

export interface NameInText {
  table: string;
  column: string | null;
  start: number;
  end: number;
}

export interface FileText {
  name: string;
  sql: string;
  rendered: boolean;
  statements: StatementEntry[];
  diagnostics: Diagnostic[];
  names: NameInText[];
}

export interface NodeColumn {
  name: string;
  type: string | null;
  used: boolean;
  mark: Mark;
}

export interface GraphNode {
  id: string;
  label: string;
  kind: string;
  resolution: string | null;
  temporary: boolean;
  columns: NodeColumn[];
  more_used: number;
  more_known: number;
  more_up: number;
  more_down: number;
  members: number;
  mark: Mark;
  statements: number[];
  file: string | null;
  x: number;
  y: number;
  width: number;
  height: number;
  layer: number;
}

export interface GraphEdge {
  id: string;
  source: string;
  source_column: string | null;
  target: string;
  target_column: string | null;
  role: string;
  approximate: boolean;
  mark: Mark;
  statements: number[];
}

export interface ReachedColumn {
  table: string;
  column: string;
  distance: number;
  approximate: boolean;
}

export interface Neighbourhood {
  nodes: GraphNode[];
  edges: GraphEdge[];
  upstream: ReachedColumn[];
  downstream: ReachedColumn[];
  detail: "tables" | "columns";
  tables: number;
  left_out: number;
  unknown: string[];
}

export interface Overview {
  names: string[];
  kinds: string[];
  places: [number, number][];
  edges: [number, number][];
  width: number;
  height: number;
}

export interface EdgeRow {
  source: string;
  source_column: string | null;
  target: string;
  target_column: string | null;
  role: string;
  approximate: boolean;
  statement: number;
  file: string | null;
}

export interface EdgeRows {
  rows: EdgeRow[];
  total: number;
}

export interface Matrix {
  tables: string[];
  cells: [number, number, number, number][];
}

export interface Found {
  table: string;
  column: string | null;
  kind: string;
}

export interface SearchAnswer {
  found: Found[];
  total: number;
}

export type Span = [number, number];

export interface EdgePlace {
  statement: number;
  statement_type: string;
  file: string;
  line: number;
  start: number;
  end: number;
  source: Span | null;
  target: Span | null;
}

export interface SchemaColumn {
  name: string;
  type: string | null;
  origin: string | null;
  inferred: boolean;
}

export interface SchemaTable {
  name: string;
  catalog: string | null;
  schema: string | null;
  table: string;
  origin: string;
  temporary: boolean;
  complete: boolean;
  conflict: boolean;
  statement: number | null;
  file: string | null;
  line: number | null;
  start: number | null;
  end: number | null;
  columns: SchemaColumn[];
}

export interface Conflict {
  table: string;
  message: string;
  hint: string;
  imported: SchemaColumn[];
  implied: SchemaColumn[];
}

export interface Prompt {
  table: string;
  catalog: string | null;
  schema: string | null;
  name: string;
  message: string;
  hint: string;
  columns: string[];
  file: string | null;
  line: number | null;
  start: number | null;
  end: number | null;
}

export interface SchemaAnswer {
  imported: SchemaTable[];
  implied: SchemaTable[];
  hybrid: SchemaTable[];
  conflicts: Conflict[];
  prompts: Prompt[];
}

/** A table of the imported schema, in the specification's shape. */
export interface ImportedTable {
  catalog?: string;
  schema?: string;
  name: string;
  columns: { name: string; dataType?: string }[];
}

export interface DeliveryRow {
  payer: string;
  report: string;
  period: string;
  delivery: string;
  state: string;
  error: string | null;
  files: number;
  size_bytes: number;
  missing: string[];
  created_at: string | null;
  updated_at: string;
  work: string | null;
}

export interface LoadRow {
  table: string;
  payer: string;
  report: string;
  period: string;
  delivery: string;
  state: string;
  error: string | null;
  rows: number;
  files: number;
  seconds: number;
  added_columns: string[];
  complete: boolean;
  reconciled: boolean | null;
  source_rows: number | null;
  rejected_rows: number;
  started_at: string;
  finished_at: string | null;
  work: string | null;
}

export interface Status {
  deliveries: DeliveryRow[];
  loads: LoadRow[];
}

export interface LoadSum {
  column: string;
  currency: string | null;
  source: string;
  table: string;
  rounded: string;
  difference: string;
}

export interface LoadSums {
  source_rows: number | null;
  table_rows: number;
  rejected_rows: number;
  reconciled: boolean | null;
  sums: LoadSum[];
}

export interface HistoryChange {
  at: string;
  kind: string;
  column: string;
  type: string;
  typeBefore: string | null;
  original: string | null;
  delivery: string | null;
  period: string | null;
}

export interface History {
  table: string;
  changes: HistoryChange[];
}

export interface ImpactPlace {
  statementIndex: number | null;
  statementType: string;
  file: string | null;
  line: number;
}

export interface ImpactReached extends ImpactPlace {
  change: string;
  table: string | null;
  column: string | null;
  role: string;
  path: string[];
  approximate: boolean;
}

export interface ImpactBreak extends ImpactPlace {
  change: string;
  table: string;
  column: string | null;
  roles: string[];
  reason: string;
}

export interface Impact {
  breaking: boolean;
  breaks: ImpactBreak[];
  reached: ImpactReached[];
  unknown: ImpactPlace[];
}

export type Presence = "there" | "new" | "gone" | "back" | "retyped" | "absent";

export interface ColumnOverTime {
  name: string;
  originals: string[];
  type: string;
  first: string | null;
  last: string | null;
  values: number[];
  states: Presence[];
}

export interface ColumnsOverTime {
  table: string;
  periods: string[];
  rows: number[];
  columns: ColumnOverTime[];
}

export interface AmountRow {
  value: string | null;
  currency: string | null;
  sums: string[];
  total: string;
}

export interface Amounts {
  table: string;
  measure: string;
  by: string | null;
  measures: string[];
  dimensions: string[];
  periods: string[];
  rows: AmountRow[];
  rest: number;
  totals: AmountRow[];
}
