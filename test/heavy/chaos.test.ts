/** `npm start -- --chaos` as a person runs it: every kind of fault, and the weights of a training in peace. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { canShowOptMl } from '@tidewheel/emulators/sagemaker/hosts/opt-ml.ts';
import { expect, it, onTestFinished } from 'vitest';
import { CHAOS_FAULTS } from '../../cli/chaos/faults.ts';
import { projectPython } from '../support/emulator.ts';
import { folderOfTest } from '../support/folders.ts';
import { PROJECT_FOLDER } from '../support/region.ts';

const OPTIONS = ['--chaos', '--once', '--chaos-every', '10', '--chaos-seconds', '180'];

it('a gang under faults ends with the undisturbed weights', async () => {
  const state = folderOfTest('chaos');
  const hasNamespaces = await canShowOptMl(projectPython(), state);
  const kinds = CHAOS_FAULTS.filter((kind) => kind !== 'disk' || hasNamespaces);
  const program = path.join(PROJECT_FOLDER, 'cli/start.ts');
  const child = spawn(process.execPath, [program, ...OPTIONS, '--state', state], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const said = await text(child.stdout);
  expect(said).toContain('weights equal: yes');
  for (const kind of kinds) expect(said).toMatch(new RegExp(`^ {2}${kind} +[1-9]`, 'm'));
  expect(await ended).toBe(0);
});
