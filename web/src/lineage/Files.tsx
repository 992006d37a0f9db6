import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import type { FileEntry } from "../answers";
import { shorten } from "../names";

/** The files of the project; a list that stays quick with thousands of them. */
export function Files({
  files,
  chosen,
  edited,
  onChoose,
}: {
  files: FileEntry[];
  chosen: string;
  edited: Record<string, string>;
  onChoose(file: string): void;
}) {
  const [filter, setFilter] = useState("");
  const scroller = useRef<HTMLDivElement>(null);
  const shared = useMemo(() => commonFolder(files.map((file) => file.name)), [files]);
  const shown = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    return wanted ? files.filter((file) => file.name.toLowerCase().includes(wanted)) : files;
  }, [files, filter]);
  const rows = useVirtualizer({ count: shown.length, getScrollElement: () => scroller.current, estimateSize: () => 26, overscan: 8 });
  return (
    <div className="files">
      {files.length > 8 && (
        <input
          type="search"
          className="file-filter"
          placeholder={`Filter ${files.length} files`}
          aria-label="filter files"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      <div className="file-list" ref={scroller} role="listbox" aria-label="files" tabIndex={0}>
        <div style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map((row) => {
            const file = shown[row.index];
            if (!file) return null;
            return (
              <button
                type="button"
                key={file.name}
                role="option"
                aria-selected={file.name === chosen}
                className={`file ${file.name === chosen ? "chosen" : ""}`}
                style={{ position: "absolute", top: row.start, height: row.size }}
                title={file.name}
                onClick={() => onChoose(file.name)}
              >
                <span>{shorten(file.name.slice(shared.length), 44)}</span>
                <span className="file-facts">
                  {file.name in edited && <span className="badge">edited</span>}
                  {file.errors > 0 && <span className="badge bad">{file.errors} ✕</span>}
                  {file.warnings > 0 && <span className="badge doubt">{file.warnings} !</span>}
                </span>
              </button>
            );
          })}
        </div>
      </div>
    </div>
  );
}

export function commonFolder(names: string[]): string {
  const first = names[0];
  if (first === undefined) return "";
  let shared = first.slice(0, first.lastIndexOf("/") + 1);
  for (const name of names) while (!name.startsWith(shared)) shared = shared.slice(0, shared.slice(0, -1).lastIndexOf("/") + 1);
  return shared;
}
