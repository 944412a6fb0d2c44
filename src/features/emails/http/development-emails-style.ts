/** The style sheet of the development page. */
export const style = `
:root { color-scheme: light dark; --ink: #1f2328; --dim: #5b6470; --line: #d8dde3; --paper: #fff; --ground: #f6f7f9; --link: #14603f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --dim: #9aa4b0; --line: #333b45; --paper: #171b20; --ground: #0f1216; --link: #7fd0a8; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem 4rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 0.5rem; }
header p { margin: 0 0 1rem; color: var(--dim); }
a { color: var(--link); }
code { font-size: 0.9em; }
table { width: 100%; border-collapse: collapse; background: var(--paper); border: 1px solid var(--line); }
th, td { padding: 0.5rem 0.75rem; text-align: left; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-size: 0.85rem; color: var(--dim); font-weight: 600; }
tr:last-child td { border-bottom: 0; }
time { white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; margin: 0 0 1rem; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
.kind { display: inline-block; padding: 0 0.5rem; border: 1px solid var(--line); border-radius: 1rem; font-size: 0.85rem;
  white-space: nowrap; }
.none { padding: 2rem; background: var(--paper); border: 1px solid var(--line); text-align: center; }
iframe { width: 100%; height: 66rem; background: #fff; border: 1px solid var(--line); }
pre { margin: 0; padding: 1rem; background: var(--paper); border: 1px solid var(--line); white-space: pre-wrap;
  overflow-wrap: anywhere; font: 0.9rem/1.5 ui-monospace, monospace; }
@media (max-width: 40rem) { th:nth-child(3), td:nth-child(3) { display: none; } }
`.trimStart();
