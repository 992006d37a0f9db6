import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic as Shown, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { FileText } from "../answers";

export interface Highlight {
  start: number;
  end: number;
  kind: "statement" | "source" | "target";
}

const setHighlights = StateEffect.define<Highlight[]>();

const highlights = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setHighlights)) continue;
      const length = transaction.newDoc.length;
      const ranges = effect.value
        .map((one) => ({ ...one, start: Math.min(one.start, length), end: Math.min(one.end, length) }))
        .filter((one) => one.end > one.start)
        .map((one) => Decoration.mark({ class: `cm-mark-${one.kind}` }).range(one.start, one.end));
      next = Decoration.set(ranges, true);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Colours come from the page's variables, which pass into the shadow.
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--sql-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--sql-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--sql-number)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--ink-quiet)" },
  { tag: tags.typeName, color: "var(--sql-type)" },
]);

const looks = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--ink-quiet)", border: "none" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
  ".cm-mark-statement": { backgroundColor: "var(--mark-statement)" },
  ".cm-mark-source": { backgroundColor: "var(--mark-up)", boxShadow: "inset 0 -2px var(--up)" },
  ".cm-mark-target": { backgroundColor: "var(--mark-down)", boxShadow: "inset 0 -2px var(--down)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    maxWidth: "480px",
  },
  ".cm-diagnosticText": { whiteSpace: "pre-wrap" },
});

export interface SqlEditorProps {
  file: FileText;
  /** the text as it is edited; that of the file where nobody has edited it */
  text: string;
  readOnly: boolean;
  highlights: Highlight[];
  onChange(text: string): void;
  onClick(offset: number): void;
}

/** CodeMirror in a shadow root: there it adopts its style sheets, which a policy without inline styles allows. */
export function SqlEditor(props: SqlEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const writable = useRef(new Compartment());

  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latest.current.text,
        extensions: [
          lineNumbers(),
          highlightActiveLineGutter(),
          history(),
          bracketMatching(),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          sql(),
          syntaxHighlighting(colours),
          lintGutter(),
          highlights,
          looks,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "SQL" }),
          writable.current.of(EditorState.readOnly.of(latest.current.readOnly)),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
          EditorView.domEventHandlers({
            click(event, editor) {
              const offset = editor.posAtCoords({ x: event.clientX, y: event.clientY });
              if (offset !== null) latest.current.onClick(offset);
            },
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== props.text) {
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.text } });
    }
  }, [props.text]);

  useEffect(() => {
    view.current?.dispatch({ effects: writable.current.reconfigure(EditorState.readOnly.of(props.readOnly)) });
  }, [props.readOnly]);

  useEffect(() => {
    const editor = view.current;
    // positions are those of the text that was analysed; another one has others
    if (!editor || props.file.sql !== editor.state.doc.toString()) return;
    const length = editor.state.doc.length;
    const shown: Shown[] = props.file.diagnostics
      .filter((one) => one.start !== null && one.end !== null)
      .map((one) => ({
        from: Math.min(one.start ?? 0, length),
        to: Math.min(one.end ?? 0, length),
        severity: one.severity,
        message: `${one.message}\n${one.hint}`,
        source: one.code,
      }));
    editor.dispatch(setDiagnostics(editor.state, shown));
  }, [props.file, props.text]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || props.file.sql !== editor.state.doc.toString()) return;
    const first = props.highlights.find((one) => one.kind !== "statement") ?? props.highlights[0];
    const effects: StateEffect<unknown>[] = [setHighlights.of(props.highlights)];
    if (first) effects.push(EditorView.scrollIntoView(Math.min(first.start, editor.state.doc.length), { y: "center" }));
    editor.dispatch({ effects });
  }, [props.highlights, props.file]);

  return <div className="editor" ref={place} />;
}
