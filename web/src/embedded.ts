/** Answers of a page that stands alone: `lineage --format html` has put the data into it, and the layers of its tables. */

import type * as A from "./answers";
import { stack } from "./stacking";
import { Refusal, type Source, type View } from "./source";

interface Column {
  name: string;
  type: string | null;
  used: boolean;
}

interface Table {
  name: string;
  kind: string;
  resolution: string | null;
  columns: Column[];
  temporary: boolean;
  written_by: number[];
  file: string | null;
  folder: string;
  schema: string;
  /** where the layout of the whole has it: its layer, and its place from above */
  layer: number;
  y: number;
}

interface Link {
  source: string;
  source_column: string | null;
  target: string;
  target_column: string | null;
  role: string;
  approximate: boolean;
  statement: number;
}

export interface Embedded {
  welcome: A.Welcome;
  project: A.ProjectSummary;
  files: A.FileText[];
  tables: Table[];
  links: Link[];
  overview: A.Overview;
  matrix: A.Matrix;
  schema: A.SchemaAnswer;
  resolved: unknown;
  /** for each statement the characters that make each of its columns */
  made: Record<string, Record<string, [number, number]>>;
  sizes: { width: number; header: number; row: number; padding: number; first: number; tables: number; limit: number };
}

const VALUES = new Set(["value", "conditional", "window"]);
const id = (table: string, column: string) => `${table}\u0000${column}`;

export function embeddedSource(data: Embedded): Source {
  const tables = new Map(data.tables.map((table) => [table.name, table]));
  const up = new Map(data.tables.map((table) => [table.name, new Set<string>()]));
  const down = new Map(data.tables.map((table) => [table.name, new Set<string>()]));
  for (const link of data.links) {
    if (link.source === link.target) continue;
    down.get(link.source)?.add(link.target);
    up.get(link.target)?.add(link.source);
  }
  const refuse = (): never => {
    throw new Refusal("a page that stands alone cannot do this", "Start the explorer: lakebed ui", 0);
  };
  return {
    welcome: async () => data.welcome,
    project: async () => data.project,
    analyse: async () => data.project,
    file: async (_, name) => data.files.find((file) => file.name === name) ?? refuse(),
    neighbourhood: async (_, view) => lookAround(data, tables, up, down, view),
    overview: async () => data.overview,
    edges: async (_, asked) => {
      const wanted = asked.search.toLowerCase();
      const told = new Set(data.links.filter((link) => link.source_column !== null).map((link) => JSON.stringify([link.source, link.target, link.statement])));
      const files = new Map(data.files.flatMap((file) => file.statements.map((one) => [one.index, file.name] as const)));
      const rows = data.links
        .filter((link) => link.source_column !== null || !told.has(JSON.stringify([link.source, link.target, link.statement])))
        .filter((link) => `${link.source}.${link.source_column ?? ""} ${link.target}.${link.target_column ?? ""} ${link.role}`.toLowerCase().includes(wanted))
        .map((link) => ({ ...link, file: files.get(link.statement) ?? null }));
      const key = (row: A.EdgeRow): (string | number)[] =>
        asked.sort === "statement" ? [row.statement] : asked.sort === "role" ? [row.role] : asked.sort === "source" ? [row.source, row.source_column ?? ""] : [row.target, row.target_column ?? ""];
      rows.sort((a, b) => compare(key(a), key(b)) * (asked.descending ? -1 : 1));
      return { rows: rows.slice(asked.offset, asked.offset + asked.limit), total: rows.length };
    },
    matrix: async () => data.matrix,
    search: async (_, text) => search(data.tables, text),
    places: async (_, edge) =>
      data.files.flatMap((file) =>
        file.statements
          .filter((statement) =>
            data.links.some(
              (link) =>
                link.statement === statement.index &&
                link.source === edge.source &&
                link.target === edge.target &&
                (edge.source_column === null || edge.source_column === link.source_column) &&
                (edge.target_column === null || edge.target_column === link.target_column),
            ),
          )
          .map((statement) => {
            const named = (column: string | null) =>
              file.names.find((one) => one.table === edge.source && one.column === column && one.start >= statement.start && one.end <= statement.end);
            const source = named(edge.source_column) ?? named(null);
            return {
              statement: statement.index,
              statement_type: statement.type,
              file: file.name,
              line: statement.line,
              start: statement.start,
              end: statement.end,
              source: source ? ([source.start, source.end] as A.Span) : null,
              target: edge.target_column === null ? null : (data.made[statement.index]?.[edge.target_column] ?? null),
            };
          }),
      ),
    schema: async () => data.schema,
    schemaExport: async (_, view) => {
      const whole = data.resolved as { tables: { origin: string }[] };
      return view === "hybrid" ? whole : { tables: whole.tables.filter((table) => table.origin === view) };
    },
    schemaImport: async () => refuse(),
    impact: async () => refuse(),
    status: async () => refuse(),
    tables: async () => refuse(),
    sums: async () => refuse(),
    history: async () => refuse(),
    columns: async () => refuse(),
    amounts: async () => refuse(),
  };
}

function compare(a: (string | number)[], b: (string | number)[]): number {
  for (let place = 0; place < a.length; place += 1) {
    const [x, y] = [a[place] ?? "", b[place] ?? ""];
    if (x < y) return -1;
    if (x > y) return 1;
  }
  return 0;
}

function search(tables: Table[], text: string): A.SearchAnswer {
  const wanted = text.trim().toLowerCase();
  const ranked: { rank: number; name: string; found: A.Found }[] = [];
  const rank = (own: string, whole: string, found: A.Found) => {
    const dotted = found.column !== null && wanted.includes(".") && whole.includes(wanted);
    if (!own.includes(wanted) && !dotted) return;
    const best = own === wanted || whole === wanted ? 0 : own.startsWith(wanted) || whole.startsWith(wanted) ? 1 : 2;
    ranked.push({ rank: best * 2 + Number(found.column !== null), name: whole, found });
  };
  for (const table of wanted ? tables : []) {
    const name = table.name.toLowerCase();
    rank(name, name, { table: table.name, column: null, kind: table.kind });
    for (const column of table.columns) {
      rank(column.name.toLowerCase(), `${name}.${column.name.toLowerCase()}`, { table: table.name, column: column.name, kind: "column" });
    }
  }
  ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  return { found: ranked.slice(0, 50).map((one) => one.found), total: ranked.length };
}

interface Walk {
  marks: Map<string, A.Mark>;
  upstream: A.ReachedColumn[];
  downstream: A.ReachedColumn[];
}

/** What the picked column comes from and reaches. */
function walk(data: Embedded, view: View): Walk {
  const marks = new Map<string, A.Mark>();
  const sides: A.ReachedColumn[][] = [];
  for (const side of ["up", "down"] as const) {
    const next = new Map<string, Link[]>();
    for (const link of data.links) {
      if (link.source_column === null || link.target_column === null) continue;
      if (!VALUES.has(link.role)) continue;
      const key = side === "up" ? id(link.target, link.target_column) : id(link.source, link.source_column);
      const known = next.get(key);
      if (known) known.push(link);
      else next.set(key, [link]);
    }
    const reached = new Map<string, A.ReachedColumn>();
    let current = [{ table: view.column_table, column: view.column, distance: 0, approximate: false }];
    const start = id(view.column_table, view.column);
    while (current.length) {
      const following: A.ReachedColumn[] = [];
      for (const one of current) {
        for (const link of next.get(id(one.table, one.column)) ?? []) {
          const table = side === "up" ? link.source : link.target;
          const column = (side === "up" ? link.source_column : link.target_column) ?? "";
          const approximate = one.approximate || link.approximate;
          const known = reached.get(id(table, column));
          if (id(table, column) === start || (known && (!known.approximate || approximate))) continue;
          const found = { table, column, distance: known?.distance ?? one.distance + 1, approximate };
          reached.set(id(table, column), found);
          following.push(found);
        }
      }
      current = following;
    }
    for (const key of reached.keys()) if (!marks.has(key)) marks.set(key, side);
    sides.push([...reached.values()].sort((a, b) => a.distance - b.distance || compare([a.table, a.column], [b.table, b.column])));
  }
  marks.set(id(view.column_table, view.column), "picked");
  return { marks, upstream: sides[0] ?? [], downstream: sides[1] ?? [] };
}

function choose(data: Embedded, tables: Map<string, Table>, up: Map<string, Set<string>>, down: Map<string, Set<string>>, view: View, walked: Walk | null): [string[], number] {
  const hidden = new Set(view.hidden);
  const limit = data.sizes.limit;
  if (view.only && walked) {
    const wanted = [...new Set([view.column_table, ...[...walked.upstream, ...walked.downstream].map((one) => one.table)])].filter((name) => !hidden.has(name));
    return [wanted.slice(0, limit), Math.max(0, wanted.length - limit)];
  }
  const focus = view.table.filter((name) => tables.has(name));
  const all = data.tables.map((table) => table.name);
  if (focus.length === 0 && all.length <= limit) return [all.filter((name) => !hidden.has(name)), 0];
  if (walked && !focus.includes(view.column_table)) focus.push(view.column_table);
  const whole = focus.length === 0;
  if (whole) {
    const busy = (name: string) => (up.get(name)?.size ?? 0) + (down.get(name)?.size ?? 0);
    focus.push(all.reduce((best, name) => (busy(name) > busy(best) ? name : best), all[0] ?? ""));
  }
  const shown = new Set(focus);
  let left = 0;
  const add = (name: string) => {
    if (shown.has(name) || hidden.has(name)) return;
    if (shown.size >= limit) left += 1;
    else shown.add(name);
  };
  for (const [beside, depth] of [[up, view.up], [down, view.down]] as const) {
    let current = [...focus];
    const seen = new Set(current);
    for (let step = 0; step < depth; step += 1) {
      current = [...new Set(current.flatMap((name) => [...(beside.get(name) ?? [])]))].filter((name) => !seen.has(name));
      for (const name of current) {
        seen.add(name);
        add(name);
      }
    }
  }
  for (const name of view.grown_up) for (const one of up.get(name) ?? []) add(one);
  for (const name of view.grown_down) for (const one of down.get(name) ?? []) add(one);
  return [[...shown].filter((name) => !hidden.has(name)), whole ? all.length - shown.size : left];
}

function lookAround(data: Embedded, tables: Map<string, Table>, up: Map<string, Set<string>>, down: Map<string, Set<string>>, view: View): A.Neighbourhood {
  const { sizes } = data;
  const known = view.column !== "" && tables.get(view.column_table)?.columns.some((column) => column.name === view.column);
  const walked = known ? walk(data, view) : null;
  const [shown, leftOut] = choose(data, tables, up, down, view, walked);
  const detail = view.detail === "auto" ? (shown.length <= sizes.tables || view.only ? "columns" : "tables") : view.detail;
  const boxOf = new Map<string, string>();
  const members = new Map<string, Table[]>();
  for (const name of shown) {
    const table = tables.get(name);
    if (!table) continue;
    const group = view.group === "none" ? "" : table[view.group];
    const box = group && !view.opened.includes(group) ? `group:${group}` : name;
    boxOf.set(name, box);
    members.set(box, [...(members.get(box) ?? []), table]);
  }
  const mark = (table: string, column: string): A.Mark => walked?.marks.get(id(table, column)) ?? null;
  const columnsOf = (table: Table): A.NodeColumn[] => {
    const marked = table.columns.map((column) => ({ ...column, mark: mark(table.name, column.name) }));
    if (view.only && walked) return marked.filter((column) => column.mark);
    if (view.whole.includes(table.name)) return marked;
    if (view.expanded.includes(table.name)) return marked.filter((column) => column.used);
    const first = new Set(table.columns.filter((column) => column.used).slice(0, detail === "tables" ? 0 : sizes.first).map((column) => column.name));
    return marked.filter((column) => column.mark || first.has(column.name));
  };
  const columns = new Map(shown.filter((name) => boxOf.get(name) === name).map((name) => [name, columnsOf(tables.get(name) as Table)]));
  const edges = new Map<string, A.GraphEdge>();
  const inside = new Set(shown);
  const told = new Set(data.links.filter((link) => link.source_column !== null && (view.predicates || VALUES.has(link.role))).map((link) => `${link.source}\u0000${link.target}`));
  for (const link of data.links) {
    if (!inside.has(link.source) || !inside.has(link.target)) continue;
    if (link.role === "table" ? link.source === link.target || told.has(`${link.source}\u0000${link.target}`) : !view.predicates && !VALUES.has(link.role)) continue;
    const marked = linkMark(link, walked);
    if (view.only && walked && !marked) continue;
    const [source, target] = [boxOf.get(link.source) ?? "", boxOf.get(link.target) ?? ""];
    const end = (table: string, column: string | null) => (columns.get(table)?.some((one) => one.name === column) ? column : null);
    const [first, last] = [end(link.source, link.source_column), end(link.target, link.target_column)];
    if (source === target && (first === null || last === null)) continue;
    const role = first !== null || last !== null || link.role === "filter" || link.role === "join" ? link.role : "table";
    const name = JSON.stringify([source, first, target, last, role]);
    const before = edges.get(name + marked);
    if (before) {
      before.approximate = before.approximate && link.approximate;
      if (!before.statements.includes(link.statement)) before.statements.push(link.statement);
    } else {
      edges.set(name + marked, { id: name, source, source_column: first, target, target_column: last, role, approximate: link.approximate, mark: marked, statements: [link.statement] });
    }
  }
  const more = (beside: Map<string, Set<string>>, group: Table[]) => new Set(group.flatMap((table) => [...(beside.get(table.name) ?? [])].filter((name) => !inside.has(name)))).size;
  const nodes: A.GraphNode[] = [...members].map(([box, group]) => {
    const table = group[0] as Table;
    const grouped = box !== table.name;
    const visible = columns.get(box) ?? [];
    const names = new Set(visible.map((column) => column.name));
    const rest = grouped ? [] : table.columns.filter((column) => !names.has(column.name));
    const rows = grouped ? 1 : visible.length + (rest.length > 0 && !(view.only && walked) ? 1 : 0);
    const marks = visible.map((column) => column.mark).filter((one) => one !== null);
    return {
      id: box,
      label: grouped ? box.slice("group:".length) : box,
      kind: grouped ? "group" : table.kind,
      resolution: grouped ? null : table.resolution,
      temporary: !grouped && table.temporary,
      columns: visible,
      more_used: rest.filter((column) => column.used).length,
      more_known: rest.filter((column) => !column.used).length,
      more_up: more(up, group),
      more_down: more(down, group),
      members: group.length,
      mark: marks.includes("picked") ? "picked" : (marks[0] ?? null),
      statements: grouped ? [] : table.written_by,
      file: grouped ? null : table.file,
      x: 0,
      y: Math.min(...group.map((one) => one.y)),
      width: sizes.width,
      height: sizes.header + (rows ? rows * sizes.row + sizes.padding : 0),
      layer: Math.min(...group.map((one) => one.layer)),
    };
  });
  const drawn = [...edges.values()];
  stack(nodes, drawn);
  const unknown = view.table.filter((name) => !tables.has(name));
  if (view.column !== "" && !known) unknown.push(`${view.column_table}.${view.column}`);
  return { nodes, edges: drawn, upstream: walked?.upstream ?? [], downstream: walked?.downstream ?? [], detail, tables: data.tables.length, left_out: leftOut, unknown };
}

function linkMark(link: Link, walked: Walk | null): A.Mark {
  if (!walked || link.source_column === null || link.target_column === null) return null;
  const [from, to] = [walked.marks.get(id(link.source, link.source_column)), walked.marks.get(id(link.target, link.target_column))];
  if (from === "up" && (to === "up" || to === "picked")) return "up";
  return (from === "picked" || from === "down") && to === "down" ? "down" : null;
}
