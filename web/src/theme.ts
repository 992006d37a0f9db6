import { useCallback, useEffect, useState } from "react";

type Theme = "light" | "dark";
const KEY = "lakebed-theme";

function remembered(): Theme | null {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : null;
  } catch {
    // a page that is a file may have no storage
    return null;
  }
}

/** Light or dark: as somebody chose, else as the system is. */
export function useTheme(): [Theme, () => void] {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const [theme, setTheme] = useState<Theme>(() => remembered() ?? system);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const toggle = useCallback(() => {
    setTheme((before) => {
      const next = before === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(KEY, next);
      } catch {
        // it holds until the page is closed
      }
      return next;
    });
  }, []);
  return [theme, toggle];
}
