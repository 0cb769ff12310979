import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packaged } from './packaged.ts';

const run = promisify(execFile);
const PYTHON = path.join('.venv', process.platform === 'win32' ? 'Scripts' : 'bin', 'python');
const LARGEST_BYTES = 800_000;

const folder = mkdtempSync(path.join(tmpdir(), 'tidewheel-bundles-'));
/** The file of each function, by its name. */
const bundles = new Map<string, string>();

beforeAll(async () => {
  const made = await packaged();
  for (const file of readdirSync(made.folder).filter((name) => name.endsWith('.zip'))) {
    const name = file.replace(/\.zip$/, '');
    const into = path.join(folder, name);
    await run(PYTHON, ['-m', 'zipfile', '-e', path.join(made.folder, file), into]);
    bundles.set(name, path.join(into, 'functions', 'handlers', name, 'handler.mjs'));
  }
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('no bundle exceeds 800 KB', () => {
  const sizes = [...bundles].map(([name, file]) => ({ name, bytes: statSync(file).size }));
  expect(sizes.length).toBeGreaterThan(15);
  expect(sizes.filter(({ bytes }) => bytes > LARGEST_BYTES)).toEqual([]);
});

it('the API document lies beside its bundle', () => {
  const beside = path.join(folder, 'api', 'docs', 'openapi.json');
  expect(readFileSync(beside)).toEqual(readFileSync('docs/openapi.json'));
});

it('every bundle loads, with its schemas and handler', async () => {
  // What a bundle puts off is made here, so that a method that it left out fails now.
  const program = `globalThis.$schemas = [];
for (const file of ${JSON.stringify([...bundles.values()])}) console.log(typeof (await import(file)).handler);
if ($schemas.length < 1_000) throw new Error('schemas: ' + $schemas.length);
for (const make of $schemas) make();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout.trim().split('\n')).toEqual(Array.from(bundles, () => 'function'));
}, 60_000);

it('a stack names lines of the sources', async () => {
  const program = `const { handler } = await import(process.argv[1]);
await handler({}, { functionName: 'judge' }).catch((error) => console.error(error.stack));`;
  const file = bundles.get('judge') ?? '';
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', program, file]);
  expect(stderr).toMatch(/InvalidInputError: .+\n +at .*functions\/aws\/lambda\/lambda-handler\.ts:\d+:\d+/);
}, 60_000);
