/** Before set-up a start is judged without packages: by the same words as after it. */

import { join } from 'node:path';
import { DECLARED_LAUNCHERS, DEFAULT_LAUNCHER } from '@tidewheel/declaration/launchers.ts';
import { LIMIT_PROFILES } from '@tidewheel/emulators/limits/profiles.ts';
import { readCommandLine, UsageError } from '@tidewheel/kit/command-line.ts';
import { describe, expect, it, vi } from 'vitest';
import { START_HELP, START_OPTIONS, startMistakes } from '../../../../cli/setup/start-options.mjs';
import { projectFolder, startCommand } from '../../../../cli/start/ready.ts';

function problemsAfterSetUp(args: readonly string[]): readonly string[] {
  try {
    readCommandLine(args, startCommand);
  } catch (error: unknown) {
    if (error instanceof UsageError) return error.problems;
    throw error;
  }
  return [];
}

describe('a start', () => {
  it.each([
    [],
    ['--once', '--limits', 'new-account', '--market', 'seed:3', '--grace=60', '--launcher', 'cheapest'],
    ['--lmits', 'new-account', '--grace', '900', '--launcher', 'ec3', '--bogus=1', '--market', 'dmo'],
    ['--limits', 'newaccount', '--market', 'seed:', '--once=yes'],
    ['--grace', '--state'],
    ['--grace', 'soon', 'now'],
    ['--market', 'demo:1234567890', '--market=trace:'],
    ['--once', '--no-demo'],
    ['--chaos', '--chaos-every', '20', '--chaos-seed=0', '--once'],
    ['--chaos', '--no-demo', '--launcher', 'ec2', '--chaos-every', '2', '--chaos-seconds', 'long'],
    ['--chaos', '--market', 'dmo', '--chaos-every', '400', '--chaos-seed'],
    ['--no-demo', '--grace', '900', '--once', '--lmits', 'none'],
    ['--once=yes', '--no-demo'],
    ['--state', '', 'now'],
    ['--market', 'trace:/nonexistent', '--other', 'mistake'],
    ['--market', `trace:${import.meta.dirname}`, '--grace', 'soon'],
  ])('is judged alike before and after set-up: %j', (...args) => {
    const typed = args.flat();
    expect(startMistakes(typed)).toEqual(problemsAfterSetUp(typed));
  });

  it('takes folders from where npm was called', () => {
    vi.stubEnv('INIT_CWD', '/called/from');
    const stateOf = (...args: string[]) => readCommandLine(args, startCommand).values.state;
    expect(stateOf('--state', 'mine')).toBe('/called/from/mine');
    expect(stateOf('--state', '/own')).toBe('/own');
    expect(stateOf()).toBe(join(projectFolder, '.tidewheel'));
    expect(problemsAfterSetUp(['--market', 'trace:none'])[0]).toContain('no folder /called/from/none');
    vi.unstubAllEnvs();
  });

  it('with --once needs the demo that it ends with', () => {
    expect(startMistakes(['--once', '--no-demo'])).toEqual([
      '--once ends with the report of the demo, which --no-demo leaves out: take one of them out',
    ]);
    expect(startMistakes(['--no-demo'])).toEqual([]);
  });

  it('with --chaos says all that is contrary', () => {
    expect(startMistakes(['--market', 'seed:3', '--chaos', '--chaos-every', '400'])).toEqual([
      '--market is "seed:3", and --chaos runs with a calm one: take out --market',
      '--chaos-seconds is 300: give more than --chaos-every, which is 400',
    ]);
    expect(startMistakes(['--chaos-every', '20', '--chaos-seed=3'])).toEqual([
      '--chaos-every is "20", and is for --chaos: add that, or take it out',
      '--chaos-seed is "3", and is for --chaos: add that, or take it out',
    ]);
    expect(startMistakes(['--chaos', '--chaos-seconds', '7201'])[0]).toContain('from 10 to 7200');
    expect(startMistakes(['--chaos', '--market', 'calm'])).toEqual([]);
  });

  it('may choose from the same lists', () => {
    expect(startMistakes(['--launcher', 'ec3', '--limits', 'some'])).toEqual([
      expect.stringContaining(DECLARED_LAUNCHERS.join(', ')),
      expect.stringContaining(LIMIT_PROFILES.join(', ')),
    ]);
    expect(START_HELP).toContain(`(default ${DEFAULT_LAUNCHER};`);
    for (const name of Object.keys(START_OPTIONS)) expect(START_HELP).toContain(`  --${name} `);
  });
});
