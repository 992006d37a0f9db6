import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// One script and one style sheet under fixed names: the server serves them as they are, and `lineage --format html`
// puts them into one page, so nothing may be loaded later.
export default defineConfig({
  plugins: [react()],
  base: "/",
  build: {
    outDir: "../src/lakebed/ui/static",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: {
        entryFileNames: "explorer.js",
        assetFileNames: "explorer[extname]",
        codeSplitting: false,
      },
    },
  },
});
