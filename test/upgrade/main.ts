/**
 * `npm run test:upgrade [-- --from 0.1.0]`: a region of that release with runs in several states is stopped, and continues
 * as one of this release; another is deployed into while it runs. All runs must end as they do in a region that was always of this release.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { type Outcomes, play, WAYS } from './play.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const USAGE = `npm run test:upgrade [-- OPTIONS]
  --from RELEASE   of releases.json (the newest)
  --by WAY         restart or deployment (default: each)
  --clone FOLDER   a clone of that release that is set up (default: one is made below .tidewheel/releases)`;

const releases = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(path.join(ROOT, 'releases.json'), 'utf8')));
const KNOWN = Object.keys(releases);

const schema = z.object({
  from: z
    .string()
    .refine((name) => KNOWN.includes(name), `write one of ${KNOWN.join(', ')}`)
    .default(KNOWN.at(-1) ?? ''),
  by: z.enum(WAYS, `write ${WAYS.join(' or ')}`).optional(),
  clone: z.string().optional(),
});

/** Set up as its own `npm run setup` does it, once. */
function cloneOf(release: string): string {
  const folder = path.join(ROOT, '.tidewheel/releases', release);
  const run = (cwd: string, command: string, ...args: readonly string[]) =>
    execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
  if (!existsSync(folder)) run(ROOT, 'git', 'worktree', 'add', '--detach', folder, releases[release] ?? '');
  run(folder, process.execPath, 'cli/bootstrap.mjs', 'setup');
  return folder;
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

function differences(undisturbed: Outcomes, upgraded: Outcomes): string[] {
  return Object.keys(upgraded).flatMap((name) =>
    isDeepStrictEqual(undisturbed[name], upgraded[name])
      ? []
      : [
          `${name}:\n  undisturbed ${JSON.stringify(undisturbed[name])}\n  upgraded    ${JSON.stringify(upgraded[name])}`,
        ],
  );
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, {
    schema,
  });
  const before = values.clone ?? cloneOf(values.from);
  print('undisturbed');
  const undisturbed = await play({ before: ROOT, after: undefined, log: print });
  let isSame = true;
  for (const by of values.by === undefined ? WAYS : [values.by]) {
    print(`from ${values.from} to this release, by ${by}`);
    const upgraded = await play({ before, after: { clone: ROOT, by }, log: print });
    const found = differences(undisturbed, upgraded);
    for (const difference of found) print(`✗ ${difference}`);
    if (found.length === 0)
      print(`✓ ${Object.keys(upgraded).length} outcomes are those of an undisturbed region`);
    isSame &&= found.length === 0;
  }
  return isSame ? 0 : 1;
}

await runCommand(USAGE, main);
