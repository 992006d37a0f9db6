import { useEffect, useRef, useState } from "react";
import type { Found } from "../answers";
import { shorten } from "../names";
import type { Source } from "../source";

/** Finds tables and columns by name. Enter takes the first; arrows walk. */
export function Search({
  source,
  analysis,
  onFound,
  onText,
}: {
  source: Source;
  analysis: string;
  onFound(found: Found): void;
  onText(text: string): void;
}) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found[]>([]);
  const [total, setTotal] = useState(0);
  const [place, setPlace] = useState(0);
  const [open, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  // Enter may come before the answer to what was typed last: it then takes the first of that answer.
  const answered = useRef("");
  const entered = useRef(false);
  useEffect(() => {
    let current = true;
    entered.current = false;
    if (!text.trim()) {
      setFound([]);
      onText("");
      return;
    }
    onText(text);
    void source.search(analysis, text).then((answer) => {
      if (!current) return;
      setFound(answer.found);
      setTotal(answer.total);
      setPlace(0);
      answered.current = text;
      if (entered.current) take(answer.found[0]);
    });
    return () => {
      current = false;
    };
  }, [source, analysis, text]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "/" && !(event.target as HTMLElement).closest("input, textarea, select, .editor")) {
        event.preventDefault();
        input.current?.focus();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  const take = (one: Found | undefined) => {
    if (!one) return;
    setOpen(false);
    onFound(one);
  };
  const shown = open && text.trim() !== "";
  return (
    <div className="search">
      <input
        id="search"
        ref={input}
        type="search"
        placeholder="Find a table or column  ( / )"
        aria-label="find a table or column"
        role="combobox"
        aria-expanded={shown}
        aria-controls="search-results"
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setPlace(Math.min(place + 1, found.length - 1));
          else if (event.key === "ArrowUp") setPlace(Math.max(place - 1, 0));
          else if (event.key === "Enter") {
            if (answered.current === text) take(found[place]);
            else entered.current = true;
          }
          else if (event.key === "Escape") {
            setOpen(false);
            event.stopPropagation();
          } else return;
          event.preventDefault();
        }}
      />
      {shown && (
        <div id="search-results" role="listbox" aria-label="found">
          {found.map((one, number) => (
            <button
              type="button"
              key={`${one.table}\0${one.column ?? ""}`}
              role="option"
              aria-selected={number === place}
              className={number === place ? "chosen" : ""}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(one)}
            >
              <span title={one.table}>{shorten(one.column === null ? one.table : `${one.table}.${one.column}`, 48)}</span>
              <span className="quiet">{one.kind}</span>
            </button>
          ))}
          {found.length === 0 && <p className="quiet">no table or column has this in its name</p>}
          {total > found.length && <p className="quiet">and {total - found.length} more: type more of it</p>}
        </div>
      )}
    </div>
  );
}
