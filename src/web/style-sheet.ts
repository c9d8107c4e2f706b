/** Of all pages, in their one style element: the Content-Security-Policy allows it by its hash, and no other style. */
export const styleSheet = `
:root {
  color-scheme: light dark;
  --page: #f5f5f3; --card: #ffffff; --ink: #1b1d21; --quiet: #595e67; --line: #dcdee2; --edge: #858b95;
  --tint: #f3f4f6; --link: #0b57b8; --focus: #0b57b8;
  --solid: #1b1d21; --solid-ink: #ffffff; --solid-hover: #363a42;
  --warn: #7a4300; --warn-tint: #fff5e0; --warn-line: #e3b564;
  --bad: #a81a1a; --bad-tint: #fdeeee; --bad-line: #e2a3a3;
  --good: #14653a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #131417; --card: #1c1e22; --ink: #eceef1; --quiet: #a7adb8; --line: #33363d; --edge: #7b818c;
    --tint: #25282e; --link: #8ab8ff; --focus: #8ab8ff;
    --solid: #eceef1; --solid-ink: #16181b; --solid-hover: #ffffff;
    --warn: #f4cd86; --warn-tint: #33290f; --warn-line: #6d5620;
    --bad: #ffb0ab; --bad-tint: #3a1d1d; --bad-line: #7c3a3a;
    --good: #8fdcac;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; padding: 1.25rem 1rem 3rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: anywhere;
}
.brand, main { max-width: 34rem; margin-inline: auto; }
.brand { display: flex; align-items: center; gap: .5rem; margin-block: .5rem 1.25rem; font-weight: 600; color: var(--quiet); }
.mark { flex: none; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .875rem; padding: 1.5rem; }
.card + .card { margin-block-start: 1rem; }
@media (min-width: 40rem) { body { padding-block-start: 3rem; } .card { padding: 2rem; } }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance; }
h2 { margin: 0 0 .75rem; font-size: 1.0625rem; line-height: 1.35; }
h3 { margin: 0; font-size: 1rem; line-height: 1.4; }
p { margin: 0 0 1rem; }
p:last-child, ul:last-child, dl:last-child, details:last-child { margin-block-end: 0; }
a { color: var(--link); text-underline-offset: .15em; }
code { font: .875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.quiet { color: var(--quiet); }
.small { font-size: .875rem; }
.note { border-radius: .5rem; padding: .625rem .75rem; border: 1px solid; font-size: .9375rem; }
.warn { color: var(--warn); background: var(--warn-tint); border-color: var(--warn-line); }
.bad { color: var(--bad); background: var(--bad-tint); border-color: var(--bad-line); }
.tag { display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: .8125rem; background: var(--tint); }

.who { margin-block-end: 1.25rem; padding: 1rem; border-radius: .625rem; background: var(--tint); }
.who p { margin: 0; }
.who .name, .who .host { font-size: 1.1875rem; line-height: 1.35; font-weight: 600; }
.who .host { margin-block-start: .125rem; }
.who .host span { font-weight: 400; color: var(--quiet); }
.who .small { margin-block-start: .25rem; }
.who .note { margin-block-start: .625rem; }

.facts { margin: 0 0 1.25rem; }
.facts dt { font-size: .8125rem; color: var(--quiet); }
.facts dd { margin: .125rem 0 .875rem; }
.facts dd:last-child { margin-block-end: 0; }
.facts .note { margin-block-start: .5rem; }
.facts form { margin-block-start: .125rem; }
.rights { margin: 0 0 1.25rem; padding: 0; list-style: none; }
.rights li { position: relative; padding-inline-start: 1.625rem; margin-block-end: .375rem; }
.rights li::before {
  content: ""; position: absolute; inset-inline-start: .25rem; top: .3rem; width: .4rem; height: .75rem;
  border: solid var(--good); border-width: 0 2px 2px 0; transform: rotate(40deg);
}
.rights.refused li { color: var(--quiet); }
.rights.refused li::before {
  width: .75rem; height: 0; top: .7rem; border-width: 0 0 2px; border-color: var(--edge); transform: none;
}

.actions { display: grid; grid-template-columns: repeat(auto-fit, minmax(6.5rem, 1fr)); gap: .75rem; margin-block: 1.5rem 1rem; }
button, .button {
  display: block; width: 100%; min-height: 2.875rem; padding: .625rem 1rem; border: 1px solid var(--edge);
  border-radius: .5rem; background: var(--card); color: var(--ink); font: inherit; font-weight: 600; line-height: 1.5;
  text-align: center; text-decoration: none; cursor: pointer;
}
button:hover, .button:hover { background: var(--tint); }
.solid { background: var(--solid); border-color: var(--solid); color: var(--solid-ink); }
.solid:hover { background: var(--solid-hover); border-color: var(--solid-hover); }
.inline { display: inline-block; width: auto; min-height: 2.25rem; padding: .25rem .875rem; font-size: .9375rem; }
.plain {
  display: inline; width: auto; min-height: 0; padding: .125rem 0; border: 0; background: none; color: var(--link);
  font-weight: 400; text-decoration: underline; text-underline-offset: .15em;
}
.plain:hover { background: none; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: .375rem; }
button:focus-visible, .button:focus-visible, input:focus-visible { border-radius: .5rem; }

label { display: block; margin-block-end: .375rem; font-weight: 600; }
input {
  display: block; width: 100%; min-height: 2.875rem; padding: .5rem .75rem; border: 1px solid var(--edge);
  border-radius: .5rem; background: var(--card); color: var(--ink); font: inherit;
}
input[aria-invalid] { border-color: var(--bad); border-width: 2px; }
.field { margin-block-end: 1rem; }
.field .small { margin-block: .375rem 0; }
.or { display: flex; align-items: center; gap: .75rem; margin-block: 1.25rem; color: var(--quiet); font-size: .875rem; }
.or::before, .or::after { content: ""; flex: 1; border-block-start: 1px solid var(--line); }

details { font-size: .875rem; }
summary { color: var(--quiet); cursor: pointer; }
details[open] summary { margin-block-end: .75rem; }

.top { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: center; justify-content: space-between; margin-block-end: 1.5rem; }
.top h1, .top p { margin: 0; }
.top div { flex: 1 1 14rem; }
.list { margin: 0; padding: 0; list-style: none; }
.list > li { padding-block: 1.25rem; border-block-start: 1px solid var(--line); }
.list > li:first-child { padding-block-start: 0; border: 0; }
.list > li:last-child { padding-block-end: 0; }
.head { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: flex-start; justify-content: space-between; margin-block-end: .75rem; }
.head div { flex: 1 1 8rem; }
.head p { margin: 0; }
.pairs { display: grid; grid-template-columns: minmax(5.5rem, auto) 1fr; gap: .25rem 1rem; margin: 0; font-size: .9375rem; }
.pairs dt { color: var(--quiet); }
.pairs dd { margin: 0; }
@media (max-width: 26rem) { .pairs { grid-template-columns: 1fr; gap: 0; } .pairs dd { margin-block-end: .375rem; } }
.aside { margin-block: 1rem 0; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;
