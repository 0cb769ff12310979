/** What a page promises is there: links and their headings, files, commands, fields of a declaration, variables. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const below = (folder: string, suffix: string): string[] =>
  readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return /^(\.|node_modules$)/.test(entry.name) ? [] : below(file, suffix);
    return entry.name.endsWith(suffix) ? [file] : [];
  });

const FOLDERS = [
  'bench',
  'cli',
  'emulators',
  'functions',
  'packages',
  'page',
  'serverless',
  'skills',
  'statemachines',
  'test',
  'training',
];
const pages = ['README.md', ...['docs', ...FOLDERS].flatMap((each) => below(each, '.md'))];
const text = new Map(pages.map((page) => [page, read(page)]));
const prose = (markdown: string): string => markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
const everyPage = [...text.values()].join('\n');

/** A page of another repository, which `images:refresh` reads. */
const ELSEWHERE = ['docs/reference/region_availability.md'];

/** As GitHub names a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
const anchorsIn = (markdown: string): string[] =>
  [...prose(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

function brokenLinks(page: string): string[] {
  const targets = [...prose(text.get(page) ?? '').matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, target = '']) => target,
  );
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [file = '', anchor] = target.split('#');
    const found = file === '' ? page : path.normalize(path.join(path.dirname(page), file));
    if (!existsSync(path.join(ROOT, found))) return true;
    return anchor !== undefined && !anchorsIn(read(found)).includes(anchor);
  });
}

describe.each(pages)('%s', (page) => {
  it('links to pages, files and headings that are there', () => {
    expect(brokenLinks(page)).toEqual([]);
  });

  it('names files that are there', () => {
    // The log names files as they were.
    if (page === 'docs/research/log.md') return;
    const named = [
      ...(text.get(page) ?? '').matchAll(
        /(?<![\w./-])(?:bench|cli|docs|emulators|functions|packages|serverless|statemachines|test|training)\/[\w./-]*\w/g,
      ),
    ].map(([file]) => file);
    const isThere = (file: string): boolean =>
      existsSync(path.join(ROOT, file)) || existsSync(path.join(ROOT, path.dirname(page), file));
    expect(
      named.filter((file) => /\.(ts|mjs|cjs|py|sh|json|yml|md|txt|lock)$/.test(file) && !isThere(file)),
    ).toEqual([]);
  });
});

it('sources name pages that exist', () => {
  const files = FOLDERS.flatMap((each) => ['.ts', '.mjs', '.py'].flatMap((suffix) => below(each, suffix)));
  const missing = files.flatMap((file) =>
    [...read(file).matchAll(/(?<![\w./-])docs\/[\w./-]+\.md/g)]
      .filter(([page]) => !existsSync(path.join(ROOT, page)) && !ELSEWHERE.includes(page))
      .map(([page]) => `${file}: ${page}`),
  );
  expect(missing).toEqual([]);
});

it('the index of decisions names each', () => {
  const index = read('docs/decisions/README.md');
  const decisions = readdirSync(path.join(ROOT, 'docs/decisions')).filter((file) => /^\d/.test(file));
  expect(decisions.length).toBeGreaterThan(20);
  expect(decisions.filter((file) => !index.includes(`](${file})`))).toEqual([]);
});

const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };

describe('verbs', () => {
  const verbs = readdirSync(path.join(ROOT, 'cli/verbs')).map((file) => path.parse(file).name);

  it('are on their page, each of them', () => {
    const page = read('docs/cli.md');
    expect(verbs.length).toBeGreaterThan(20);
    expect(verbs.filter((verb) => !page.includes(`\`${verb}\``))).toEqual([]);
  });

  it('exist, each that a page names', () => {
    const named = [...everyPage.matchAll(/npx (?:--no-install )?tidewheel ([a-z]+(?:-[a-z]+)*)/g)].map(
      ([, name = '']) => name,
    );
    const known = [...verbs, 'help', 'completion'];
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('commands', () => {
  it('are on some page, each of them', () => {
    const isDocumented = (name: string): boolean =>
      new RegExp(`npm (run )?${name}(?![\\w:-])`).test(everyPage);
    const undocumented = Object.keys(scripts).filter((name) => !isDocumented(name));
    expect(undocumented).toEqual([]);
  });

  it('are few beside benches and tests', () => {
    const others = Object.keys(scripts).filter((name) => !/^(bench|test):/.test(name));
    expect(others.length).toBeLessThanOrEqual(20);
  });

  it('exist, each that a page names', () => {
    const named = [...everyPage.matchAll(/npm run ([a-z][a-z:-]*)/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

it("workloads and verdicts on the articles' page exist", () => {
  const page = read('docs/articles.md');
  const files = [
    'training/measure/articles.py',
    'cli/recipes/small-files.ts',
    'packages/doctor/rules/verdict.ts',
    'packages/declaration/schema/strategies.ts',
  ];
  const known = files.map(read).join('\n').replaceAll('"', "'");
  const workloads = [...page.matchAll(/npm run articles -- ([\w -]+)/g)].flatMap(([, names = '']) =>
    names.trim().split(' '),
  );
  const verdicts = [...page.matchAll(/`([a-z]+(?:-[a-z]+)+)`/g)].map(([, name = '']) => name);
  expect(Math.min(workloads.length, verdicts.length)).toBeGreaterThan(15);
  const isThere = (name: string): boolean => known.includes(`'${name.replace(/-\d$/, '-{workers}')}'`);
  expect([...workloads, ...verdicts].filter((name) => !isThere(name))).toEqual([]);
});

function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === 'properties' && typeof value === 'object' && value !== null
      ? [...Object.keys(value), ...fieldsOf(Object.values(value))]
      : fieldsOf(value),
  );
}

it('every field of a declaration is documented for users', () => {
  const userPages = ['pipeline', 'tuning', 'datasets', 'placement']
    .map((name) => read(`docs/${name}.md`))
    .join('\n');
  const fields = [...new Set(fieldsOf(JSON.parse(read('docs/pipeline.schema.json'))))];
  expect(fields.length).toBeGreaterThan(80);
  expect(fields.filter((field) => !new RegExp(`\\b${field}\\b`).test(userPages))).toEqual([]);
});

/** Between the agent's own processes. */
const INTERNAL = ['TIDEWHEEL_SCRIPT_TOKEN', 'TIDEWHEEL_SERVICE'];

it('every variable of the agent is documented', () => {
  const folders = ['training/agent', 'training/automatic', 'training/instrument'];
  const code = folders.flatMap((folder) => below(folder, '.py').map(read)).join('\n');
  const variables = [...new Set(code.match(/\bTIDEWHEEL_[A-Z_]*[A-Z]\b/g))];
  expect(variables.length).toBeGreaterThan(20);
  const page = read('training/agent/README.md');
  expect(variables.filter((name) => !INTERNAL.includes(name) && !page.includes(`\`${name}\``))).toEqual([]);
});
