/** The command line as its package installs it, on every Node that is at hand, and in a clone; its completions in a real shell. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, expect, it } from 'vitest';
import project from '../../../package.json' with { type: 'json' };
import { folderOfSuite } from '../../support/folders.ts';
import { startApi } from '../../support/world/api-server.ts';
import { ground } from '../../support/world/ground.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '../../..');

const folder = folderOfSuite('program');
const made = path.join(folder, 'made');
const program = path.join(folder, 'node_modules/.bin/tidewheel');

beforeAll(async () => {
  await run(process.execPath, [path.join(ROOT, 'cli/build-program.ts'), made], { cwd: ROOT });
  const npm = (...words: string[]) => run('npm', [...words, '--offline'], { cwd: folder });
  const { stdout } = await npm('pack', made);
  await npm('install', '--no-audit', '--no-fund', path.join(folder, stdout.trim()));
}, 300_000);

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function tidewheel(words: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const searched = [path.dirname(program), process.env['PATH']].join(path.delimiter);
  const environment = { PATH: searched, HOME: folder, ...more };
  try {
    return { code: 0, ...(await run('tidewheel', words, { cwd: folder, env: environment })) };
  } catch (error: unknown) {
    const { code, stdout, stderr } = error as Ended;
    return { code, stdout, stderr };
  }
}

it('lists its verbs without colours in a pipe', async () => {
  const { code, stdout } = await tidewheel(['help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ {2}watch +show a run until it ends$/m);
  expect(stdout).not.toContain('\u001b');
});

it('answers a wrong name with the nearest', async () => {
  expect(await tidewheel(['lgos'])).toMatchObject({
    code: 8,
    stderr: expect.stringContaining('there is no verb'),
  });
  expect(await tidewheel(['dokter'])).toMatchObject({
    code: 8,
    stderr: expect.stringContaining('did you mean doctor?'),
  });
  expect((await tidewheel(['stop', '--nwo'])).stderr).toContain('there is no option --nwo');
});

it('says where no deployment is and what to do', async () => {
  const { code, stderr } = await tidewheel(['runs']);
  expect(code).toBe(8);
  expect(stderr).toMatch(/no AWS region is set: start a region \(tidewheel up\), or name one with --region/);
  const down = await tidewheel(['runs', '--state', 'nowhere']);
  expect(down).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no local region in nowhere'),
  });
});

it('checks a declaration without a deployment', async () => {
  await writeFile(path.join(folder, 'bad.yaml'), 'name: x\ntraining: { strategy: sinlge }\n');
  const { code, stdout } = await tidewheel(['check', 'bad.yaml', '--json']);
  const { declaration } = JSON.parse(stdout) as {
    declaration: { valid: boolean; problems: { path: string }[] };
  };
  expect([code, declaration.valid]).toEqual([1, false]);
  expect(declaration.problems.map(({ path: at }) => at)).toContain('training.strategy');
});

it('loads no verb for help or a version', async () => {
  const alone = path.join(folder, 'alone');
  await mkdir(alone);
  for (const file of await readdir(made))
    if (/^(tidewheel|main-|about-|chunk-)/.test(file))
      await cp(path.join(made, file), path.join(alone, file));
  const ask = (...words: string[]) => run(process.execPath, [path.join(alone, 'tidewheel.mjs'), ...words]);
  expect((await ask('--version')).stdout).toBe(`${project.version}\n`);
  expect((await ask('watch', '--help')).stdout).toContain('--exit-status');
  await expect(ask('wacht')).rejects.toMatchObject({ code: 8 });
});

it('runs on every Node at hand, from any folder', async () => {
  const { stdout: nodes } = await run('which', ['-a', 'node']);
  const versions = new Set<string>();
  for (const node of [process.execPath, ...nodes.trim().split('\n')]) {
    const file = await realpath(program);
    versions.add((await run(node, ['--version'])).stdout);
    const { stderr } = await run(node, [file, 'runs'], { cwd: '/', env: { HOME: folder } }).catch(
      (error: unknown) => error as Ended,
    );
    expect(stderr).toContain(`start a region (${file} up)`);
  }
  expect(versions.size).toBeGreaterThan(0);
});

it('is built again when a source changed', async () => {
  const version = () => run(process.execPath, [path.join(ROOT, 'cli/tidewheel.mjs'), '--version']);
  await version();
  const file = path.join(ROOT, '.tidewheel/program/record.json');
  const record = await readFile(file, 'utf8');
  const { entry, inputs } = JSON.parse(record) as { entry: string; inputs: [string, number, number][] };
  const [[name, size, changed] = ['', 0, 0], ...others] = inputs;
  await writeFile(file, JSON.stringify({ entry, inputs: [[name, size, changed - 1], ...others] }));
  expect((await version()).stdout).toBe(`${project.version}\n`);
  expect(await readFile(file, 'utf8')).toBe(record);
});

it('says what needs a clone', async () => {
  expect((await tidewheel(['up'])).stderr).toContain('needs a clone');
});

it('completes verbs and options in bash', async () => {
  const { stdout } = await tidewheel(['completion', 'bash']);
  const ask = (words: string, at: number) =>
    run('bash', [
      '-c',
      `${stdout}\nCOMP_WORDS=(${words}); COMP_CWORD=${at}; _tidewheel; echo "\${COMPREPLY[@]}"`,
    ]);
  expect((await ask('tidewheel wa', 1)).stdout).toBe('watch\n');
  expect((await ask('tidewheel stop --n', 2)).stdout).toBe('--now\n');
  expect((await ask('tidewheel data comp', 2)).stdout).toBe('compare compact\n');
  expect((await ask('tidewheel data --dry', 2)).stdout).toBe('--dry-run\n');
  expect((await ask('tidewheel model g', 2)).stdout).toBe('get\n');
});

it('serves a coding agent over its standard streams', async () => {
  const api = await startApi(ground(), 'ada');
  const env = { HOME: folder, TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'abc' };
  const client = new Client({ name: 'test', version: '1' });
  const args = [await realpath(program), 'mcp', '--max-usd', '20'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: folder }));
  try {
    expect(client.getInstructions()).toContain('planRun');
    expect((await client.listTools()).tools.length).toBeGreaterThan(30);
    expect(await client.callTool({ name: 'listRuns', arguments: {} })).toMatchObject({ isError: false });
    expect(new Set(api.signatures)).toEqual(new Set(['Bearer abc']));
  } finally {
    await client.close();
    api.stop();
  }
});

/** What the line becomes after a tab, in a shell on a terminal of its own. */
const ZSH = `zmodload zsh/zpty
zpty shell zsh -f -i
take() { local part; all=; until [[ $all == *$1* ]]; do zpty -r shell part || break; all+=$part; done }
zpty -w shell "PS1=; bindkey -e; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -D -u; source $1; PS1=$'\\nIS READY\\n'"
take $'\\nIS READY'
zpty -w -n shell "$2"$'\\t\\C-a'"print -r -- 'LINE:"$'\\C-e'"'"$'\\n'
take $'\\nLINE:'
print -r -- "\${all##*$'\\n'LINE:}"
zpty -d shell`;

async function isHere(shell: string): Promise<boolean> {
  return run(shell, ['-c', 'exit']).then(
    () => true,
    () => false,
  );
}

it.runIf(await isHere('zsh'))(
  'completes verbs and options in zsh',
  async () => {
    const file = path.join(folder, '_tidewheel');
    await writeFile(file, (await tidewheel(['completion', 'zsh'])).stdout);
    const ask = async (words: string) =>
      (await run('zsh', ['-f', '-c', ZSH, 'zsh', file, words])).stdout.trim();
    expect(await ask('tidewheel wa')).toBe('tidewheel watch');
    expect(await ask('tidewheel stop --n')).toBe('tidewheel stop --now');
    expect(await ask('tidewheel model g')).toBe('tidewheel model get');
  },
  30_000,
);

it.runIf(await isHere('fish'))('completes verbs and options in fish', async () => {
  const { stdout } = await tidewheel(['completion', 'fish']);
  const ask = async (words: string) =>
    (await run('fish', ['-c', `${stdout}\ncomplete -C '${words}'`])).stdout;
  expect(await ask('tidewheel wa')).toBe('watch\tshow a run until it ends\n');
  expect(await ask('tidewheel stop --n')).toMatch(/^--now\t/);
  expect(await ask('tidewheel data comp')).toBe('compact\ncompare\n');
});

it('calls with a token where one is set', async () => {
  const api = await startApi(ground(), 'ada');
  const at = { TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'abc' };
  try {
    expect(await tidewheel(['runs', '--json'], at)).toMatchObject({ code: 0 });
    expect(new Set(api.signatures)).toEqual(new Set(['Bearer abc']));
    api.instead = { status: 401, body: { message: 'Unauthorized' } };
    expect(await tidewheel(['runs'], at)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Set TIDEWHEEL_TOKEN to a new one'),
    });
  } finally {
    api.stop();
  }
});

it.each([
  [{ TIDEWHEEL_TOKEN: 'abc' }, 'set both'],
  [{ TIDEWHEEL_TOKEN: 'abc', TIDEWHEEL_API_URL: 'http://example.org' }, 'write https://'],
])('sends no token without an address or TLS: %o', async (environment, remedy) => {
  expect(await tidewheel(['runs'], environment)).toMatchObject({
    code: 8,
    stderr: expect.stringContaining(remedy),
  });
});
