/** The command line from its package, in an empty folder, on each Node that it supports. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, expect, it } from 'vitest';
import project from '../../package.json' with { type: 'json' };
import { folderOfSuite } from '../support/folders.ts';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '../..');
const folder = folderOfSuite('nodes');
let packed: string;

beforeAll(async () => {
  const made = path.join(folder, 'made');
  await run(process.execPath, [path.join(ROOT, 'cli/build-program.ts'), made], { cwd: ROOT });
  packed = path.join(folder, (await run('npm', ['pack', made], { cwd: folder })).stdout.trim());
}, 300_000);

it.each(['20', '22', '24'])('installs and runs on Node %s', async (version) => {
  const place = path.join(folder, version);
  const own = path.join(place, 'node_modules/.bin');
  const empty = path.join(place, 'empty');
  await mkdir(empty, { recursive: true });
  for (const each of [place, empty]) await writeFile(path.join(each, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--no-audit', '--no-fund', `node@${version}`], { cwd: place });
  const env = { PATH: [own, process.env['PATH']].join(path.delimiter), HOME: place };
  expect((await run('node', ['--version'], { env })).stdout).toMatch(new RegExp(`^v${version}\\.`));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', packed], { cwd: empty, env });
  const program = path.join(empty, 'node_modules/.bin/tidewheel');
  const tidewheel = (...words: string[]) => run(program, words, { cwd: empty, env });
  expect((await tidewheel('--version')).stdout.trim()).toBe(project.version);
  expect((await tidewheel('completion', 'bash')).stdout).toContain('complete -o default');
  await writeFile(path.join(empty, 'bad.yaml'), 'name: x\n');
  await expect(tidewheel('check', 'bad.yaml')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('training: is missing'),
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command: program, args: ['mcp'], env, cwd: empty }));
  expect((await client.listTools()).tools.length).toBeGreaterThan(30);
  await client.close();
});
