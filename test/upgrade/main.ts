/**
 * `npm run test:upgrade`: a region of an earlier release with runs in several states is stopped, and continues as one of
 * this release; another is deployed into while it runs. All runs must end as they do in a region that was always of this
 * release. `--from this` goes up to a made release that has raised every version, down, and up again.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import * as z from 'zod';
import { cloneOf, nextRelease, ROOT } from './clones.ts';
import { type Outcomes, type Play, packaged, play, STATES, WAYS } from './play.ts';

const USAGE = `npm run test:upgrade [-- OPTIONS]
  --from RELEASE   of releases.json (the newest), or this: up to a made release, down, and up again
  --by WAY         restart or deployment (default: each)
  --pipelines A,B  some of them (all)`;

const releases = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(path.join(ROOT, 'releases.json'), 'utf8')));
const KNOWN = [...Object.keys(releases), 'this'];
const NAMES = Object.keys(STATES);
const SOME = `write some of ${NAMES.join(',')}`;

const schema = z.object({
  from: z
    .string()
    .refine((name) => KNOWN.includes(name), `write one of ${KNOWN.join(', ')}`)
    .default(KNOWN.at(-2) ?? ''),
  by: z.enum(WAYS, `write ${WAYS.join(' or ')}`).optional(),
  pipelines: z
    .string()
    .default(NAMES.join(','))
    .transform((text) => text.split(','))
    .refine((names) => names.every((name) => NAMES.includes(name)), SOME),
});

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

const CELL = 16;

/** Outcomes of a region that was always of this release, and of each way. */
interface Played {
  readonly undisturbed: Outcomes;
  readonly plays: readonly PromiseSettledResult<Outcomes>[];
  readonly ways: readonly string[];
}

function printTable(names: readonly string[], { undisturbed, plays, ways }: Played): void {
  const same = (name: string) => (upgraded: PromiseSettledResult<Outcomes>) => {
    if (upgraded.status !== 'fulfilled') return 'failed';
    const of = Object.keys(undisturbed).filter((outcome) => outcome.startsWith(`${name}, `));
    const alike = of.filter((outcome) => isDeepStrictEqual(undisturbed[outcome], upgraded.value[outcome]));
    return `${alike.length} of ${of.length}`;
  };
  const rows = names.map((name) => [name, STATES[name] ?? '', ...plays.map(same(name))]);
  for (const row of [['pipeline', 'its first run', ...ways], ...rows])
    print(
      row
        .map((cell) => cell.padEnd(CELL))
        .join('')
        .trimEnd(),
    );
}

/** @returns whether all is as undisturbed */
function printProblems(from: string, { undisturbed, plays, ways }: Played): boolean {
  const problems = plays.map((upgraded) =>
    upgraded.status === 'fulfilled' ? differences(undisturbed, upgraded.value) : ['it failed'],
  );
  for (const [index, found] of problems.entries()) {
    const by = `from ${from} by ${ways[index]}`;
    for (const problem of found) print(`✗ ${by}: ${problem}`);
    if (found.length === 0) print(`✓ ${by}: ${Object.keys(undisturbed).length} outcomes as undisturbed`);
  }
  return problems.every(({ length }) => length === 0);
}

async function main(args: readonly string[]): Promise<number> {
  const { from, pipelines: names, by } = readCommandLine(args, { schema }).values;
  const [before, after] =
    from === 'this' ? bothWays(nextRelease()) : [cloneOf(from, releases[from] ?? ''), [ROOT]];
  const played = (who: string, way: Pick<Play, 'before' | 'after' | 'by'>): Promise<Outcomes> =>
    play({ ...way, names, log: (line) => print(`${who}: ${line}`) }).catch((error: unknown) => {
      print(`✗ ${who}: ${messageOf(error)}`);
      throw error;
    });
  const ways = by === undefined ? WAYS : [by];
  for (const clone of new Set([ROOT, before, ...after])) {
    print(`packages ${path.relative(process.cwd(), clone) || 'this release'}, once until it changes`);
    await packaged(clone, print);
  }
  // Beside each other: each waits ten minutes for capacity.
  const [undisturbed, ...plays] = await Promise.allSettled([
    played('undisturbed', { before: ROOT, after: [], by: 'restart' }),
    ...ways.map((way) => played(way, { before, after, by: way })),
  ]);
  if (undisturbed?.status !== 'fulfilled') throw undisturbed?.reason;
  const all = { undisturbed: undisturbed.value, plays, ways };
  printTable(names, all);
  return printProblems(from, all) ? 0 : 1;
}

const bothWays = (next: string): [string, string[]] => [ROOT, [next, ROOT, next]];

await runCommand(USAGE, main);
