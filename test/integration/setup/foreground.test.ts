/** Programs that the set-up runs in the foreground: what a signal to it ends, and that it is known afterwards. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const PROGRAM = join(import.meta.dirname, '../../../cli/setup/program.mjs');
const CHILD = `process.stdout.write('ready\\n'); setTimeout(() => {}, 60_000);`;
const PARENT = `
  import { endingSignal, runInForeground } from ${JSON.stringify(PROGRAM)};
  await runInForeground([process.execPath, '-e', ${JSON.stringify(CHILD)}]);
  process.stdout.write('ended by ' + endingSignal());
`;

/** The output of a parent that got this signal as soon as its child ran. */
function outputAfter(signal: NodeJS.Signals): Promise<string> {
  // A group of its own, as a terminal has one for what it runs.
  const parent = spawn(process.execPath, ['--input-type=module', '-e', PARENT], { detached: true });
  const pid = parent.pid ?? 0;
  let output = '';
  return new Promise((resolve, reject) => {
    parent.on('error', reject).on('close', () => resolve(output));
    parent.stderr.on('data', (chunk: Buffer) => reject(new Error(chunk.toString())));
    parent.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output === 'ready\n') process.kill(signal === 'SIGINT' ? -pid : pid, signal);
    });
  });
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s ends the program and what follows', async (signal) => {
  expect(await outputAfter(signal)).toBe(`ready\nended by ${signal}`);
});

const SHELL = ['sh', '-c', '"$0" --input-type=module -e "$1"; true', process.execPath, PARENT] as const;
/** As npm has a shell between itself and what it runs. */
const NPM = [
  process.execPath,
  '-e',
  `const [program, ...args] = ${JSON.stringify(SHELL)};
  require('node:child_process').spawn(program, args, { stdio: 'inherit' });`,
] as const;

async function outputAfterKill(
  [program, ...args]: readonly [string, ...string[]],
  signal: NodeJS.Signals,
): Promise<string> {
  const child = spawn(program, args, { env: { ...process.env, npm_lifecycle_event: 'start' } });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (output === 'ready\n') child.kill(signal);
  });
  await once(child, 'close');
  return output;
}

it("a SIGTERM of npm's shell ends the program", async () => {
  expect(await outputAfterKill(SHELL, 'SIGTERM')).toBe('ready\nended by SIGTERM');
});

// Its shell stays. Only Linux's /proc names the shell's parent.
it.runIf(process.platform === 'linux')('a SIGKILL of npm ends the program', async () => {
  expect(await outputAfterKill(NPM, 'SIGKILL')).toBe('ready\nended by SIGTERM');
});
