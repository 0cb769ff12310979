import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cutWindows } from '../../../../bench/sim/default-windows.ts';
import { readWindows } from '../../../../bench/sim/listed-windows.ts';
import { sharesOf } from '../../../../bench/sim/shares.ts';
import { settingOf } from '../../../../bench/sim/windows.ts';

let folder: string;
const write = (file: string, content: unknown): string => {
  const target = path.join(folder, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, typeof content === 'string' ? content : JSON.stringify(content));
  return target;
};
const trace = (seconds: unknown, data: unknown): unknown => ({ metadata: { gap_seconds: seconds }, data });
const steady = (seconds: number): unknown =>
  trace(
    seconds,
    Array.from({ length: 100 }, () => 1),
  );

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'tidewheel-windows-'));
  write('good/a.json', steady(600));
  write('good/quick.json', steady(60));
});
afterAll(() => rmSync(folder, { recursive: true }));

const zone = { trace: 'a.json', startTick: 0, spotPrice: 0.9 };
const good = {
  id: 'w',
  zones: [zone],
  ticks: 60,
  onDemandPrice: 3,
  nodes: 1,
  workHours: 5,
  deadlineHours: 8,
  restartHours: 0.1,
};

function problemsOf(act: () => unknown): readonly string[] {
  try {
    act();
  } catch (error: unknown) {
    if (error instanceof UsageError) return error.problems;
    throw error;
  }
  return [];
}

const listed = (windows: unknown): readonly string[] => {
  const file = write('windows.json', windows);
  return problemsOf(() => readWindows(path.join(folder, 'good'), file)).map((each) =>
    each.replace(`--windows ${file}: `, ''),
  );
};

describe('a file of windows', () => {
  it('is taken as it stands when right', () => {
    expect(listed([good])).toEqual([]);
    expect(listed([{ ...good, nodes: undefined, restartHours: 0 }])).toEqual([]);
  });

  it.each([
    [{ id: null }, 'window [0]: id is empty, '],
    [{ zones: [] }, 'window "w" ([0]): zones has 0 entries, '],
    [{ zones: [{ ...zone, trace: '' }] }, 'window "w" ([0]): zones[0].trace is 0 characters long, '],
    [{ zones: [{ ...zone, startTick: -1 }] }, 'window "w" ([0]): zones[0].startTick is -1, '],
    [{ zones: [{ ...zone, spotPrice: 0 }] }, 'window "w" ([0]): zones[0].spotPrice is 0, '],
    [{ ticks: 1.5 }, 'window "w" ([0]): ticks is 1.5, '],
    [{ onDemandPrice: '3' }, 'window "w" ([0]): onDemandPrice is "3", '],
    [{ nodes: 0 }, 'window "w" ([0]): nodes is 0, '],
    [{ workHours: undefined }, 'window "w" ([0]): workHours is missing, '],
    [{ deadlineHours: 0 }, 'window "w" ([0]): deadlineHours is 0, '],
    [{ restartHours: -0.1 }, 'window "w" ([0]): restartHours is -0.1, '],
  ])('is refused for %j with field and remedy', (change, expected) => {
    const problems = listed([{ ...good, ...change }]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/, give /);
    expect(problems[0]?.slice(0, expected.length)).toBe(expected);
  });

  it('is refused for all of its windows at once', () => {
    const problems = listed([
      { ...good, ticks: 0, workHours: -1 },
      {
        ...good,
        id: 'other',
        zones: [
          { ...zone, startTick: 41 },
          { ...zone, trace: 'quick.json' },
        ],
      },
      { ...good, id: 'third' },
      { ...good, id: 'third' },
    ]);
    expect(problems.map((each) => each.split(/ is | has /)[0])).toEqual([
      'window "w" ([0]): ticks',
      'window "w" ([0]): workHours',
      'id',
      'window "other" ([1]): zones[0].startTick',
      'window "other" ([1]): zones[1].trace',
    ]);
    expect(problems[3]).toContain('begin at 40 at the latest');
  });

  it('shares a plan, the widest window first', () => {
    const [wide, long] = [
      { ...good, id: 'wide', deadlineHours: 380 },
      { ...good, id: 'long', workHours: 2_990, deadlineHours: 3_000 },
    ];
    const task = { folder: path.join(folder, 'good'), threads: 1 };
    const [share = [], ...others] = sharesOf([good, long, wide, { ...wide, restartHours: 1 }], task);
    expect(share.map(({ id }) => id)).toEqual(['wide', 'long', good.id]);
    expect(others).toHaveLength(1);
  });

  it('is refused without a readable list', () => {
    expect(listed(good)).toEqual(['give a JSON array with one window or more']);
    expect(listed([])).toEqual(['give a JSON array with one window or more']);
    expect(listed('[')[0]).toMatch(/^it is no JSON/);
    expect(problemsOf(() => readWindows(folder, path.join(folder, 'none.json')))[0]).toContain('ENOENT');
  });

  it('keeps fractions of a second', () => {
    const window = { ...good, restartHours: 0.033, workHours: 0.07 };
    const setting = settingOf(path.join(folder, 'good'), window);
    expect([setting.restartSeconds, setting.workSeconds]).toEqual([118.8, 252]);
  });
});

describe('a folder of traces', () => {
  const cut = (name: string): readonly string[] =>
    problemsOf(() =>
      cutWindows(path.join(folder, name), {
        workHours: 1,
        deadlineHours: [2],
        restartHours: [0],
        onDemandPrice: 3,
        spotPrice: 1,
        nodes: 1,
        everyHours: 1,
        multiZone: false,
      }),
    ).map((each) => each.replace(`${path.join(folder, name)}/`, ''));

  it('is refused when it holds none', () => {
    mkdirSync(path.join(folder, 'empty'));
    expect(cut('empty')[0]).toMatch(/^there is no trace under .*: name the folder/);
  });

  it("is refused with every file's problem", () => {
    write('bad/a.json', '{');
    write('bad/b.json', trace(0, [1, -1]));
    write('bad/c.json', { metadata: {}, data: [] });
    write('bad/d.json', steady(60));
    expect(cut('bad').map((each) => each.split(', give')[0])).toEqual([
      expect.stringMatching(/^a\.json is no trace: it is no JSON/),
      'b.json is no trace: metadata.gap_seconds is 0',
      'b.json is no trace: data[1] is -1',
      'c.json is no trace: metadata.gap_seconds is missing',
      'c.json is no trace: data has 0 entries',
    ]);
  });
});
