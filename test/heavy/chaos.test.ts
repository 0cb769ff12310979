/** `npm start -- --chaos` as a person runs it: every kind of fault, and the weights of a training in peace. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { PROJECT_FOLDER } from '../support/region.ts';

const OPTIONS = ['--chaos', '--once', '--chaos-every', '10', '--chaos-seconds', '90'];

it('a gang under faults ends with the undisturbed weights', async () => {
  const state = folderOfTest('chaos');
  const program = path.join(PROJECT_FOLDER, 'cli/start.ts');
  const child = spawn(process.execPath, [program, ...OPTIONS, '--state', state], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const said = await text(child.stdout);
  expect(said).toContain('weights equal: yes');
  expect(said).toMatch(/^ {2}all +[3-9]\b/m);
  expect(await ended).toBe(0);
});
