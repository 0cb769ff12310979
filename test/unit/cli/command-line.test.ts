import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { readCommandLine, UsageError, usable } from '@tidewheel/kit/command-line.ts';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';

const spec = {
  schema: z.object({
    deadline: z.coerce.number({ error: 'give hours' }).positive('give hours above 0'),
    market: z.enum(['spot', 'on-demand'], { error: 'give spot or on-demand' }).default('spot'),
    verbose: z.boolean().default(false),
  }),
  positionals: ['RUN_ID', 'ATTEMPT?'],
} as const;

const problemsOf = (...args: readonly string[]): readonly string[] => {
  try {
    readCommandLine(args, spec);
  } catch (error: unknown) {
    if (error instanceof UsageError) return error.problems;
    throw error;
  }
  return [];
};

it('an unwritable path is named by its option', async () => {
  const refused = usable('--state', '/file/x', () => Promise.reject(new Error('ENOTDIR: not a directory')));
  await expect(refused).rejects.toEqual(
    new UsageError([
      '--state is "/file/x", which cannot be written (ENOTDIR: not a directory): name another place',
    ]),
  );
  await expect(usable('--state', '/folder', () => Promise.resolve(1))).resolves.toBe(1);
});

it('a command outlives the reader of its output', async () => {
  const command = `
    import { runCommand } from '@tidewheel/kit/command-line.ts';
    await runCommand('', async () => {
      for (let line = 0; line < 3; line += 1) {
        process.stdout.write('a line\\n');
        await new Promise(setImmediate);
      }
      return 7;
    });`;
  const program = spawn(process.execPath, ['--input-type=module', '--eval', command]);
  program.stdout.destroy();
  const [errors, [code]] = await Promise.all([text(program.stderr), once(program, 'exit')]);
  expect({ errors, code }).toEqual({ errors: '', code: 7 });
});

describe('a command line', () => {
  it('is parsed by its schema, with defaults', () => {
    expect(readCommandLine(['run-1', '--deadline', '2.5'], spec)).toEqual({
      values: { deadline: 2.5, market: 'spot', verbose: false },
      positionals: ['run-1'],
    });
  });

  it('has every mistake named at once', () => {
    expect(problemsOf('--deadlin', '3', '--market=cheap', '--verbose=yes')).toEqual([
      'there is no option --deadlin; did you mean --deadline?',
      '--verbose takes no value, but "yes" was given',
      '--deadline is missing: give hours',
      '--market is "cheap": give spot or on-demand',
    ]);
  });

  it('names the wrong value of a repeated option', () => {
    const again = {
      schema: z.object({
        env: z.array(z.string().regex(/=/, 'write NAME=VALUE')),
        hours: z.string().max(1, 'give a digit').optional(),
      }),
    } as const;
    const problems =
      (...args: readonly string[]) =>
      () =>
        readCommandLine(args, again);
    expect(problems('--env', 'a=1', '--env', 'b', '--hours', '12')).toThrow(
      new UsageError(['--env is "b": write NAME=VALUE', '--hours is "12": give a digit']),
    );
    expect(problems('--env', 'a=1', '--env')).toThrow(new UsageError(['--env needs a value']));
    expect(problems()).toThrow(/^--env is missing/);
  });

  it('says which option lacks its value, once', () => {
    expect(problemsOf('run-1', '--deadline')).toEqual(['--deadline needs a value']);
  });

  it('names missing and surplus arguments', () => {
    expect(problemsOf('--deadline', '1')).toEqual(['RUN_ID is missing']);
    expect(problemsOf('run-1', '2', 'three', '--deadline', '1')).toEqual(['"three" is one word too many']);
  });

  it('names surplus words beside wrong options', () => {
    expect(problemsOf('run-1', '2', 'three', '--deadline', '1', '--colour')).toEqual([
      'there is no option --colour',
      '"three" is one word too many',
    ]);
  });

  it('spares words that may be values of unknown options', () => {
    expect(problemsOf('run-1', '--colour', 'red', '3', '--deadline', '1')).toEqual([
      'there is no option --colour',
    ]);
    expect(problemsOf('run-1', '2', '--deadline', '1', '--colour=red', 'three')).toContain(
      '"three" is one word too many',
    );
  });

  it('names what a command checks and unset variables too', () => {
    const checked = {
      ...spec,
      environment: ['TIDEWHEEL_NEVER_SET'],
      check: ([run]: readonly string[], values: object | undefined) => [`${run} of ${typeof values}`],
    };
    expect(() => readCommandLine(['run-1', '--deadline', 'x', '--colour', 'red'], checked)).toThrow(
      new UsageError([
        'there is no option --colour',
        '--deadline is "x": give hours',
        'run-1 of undefined',
        'TIDEWHEEL_NEVER_SET is not set: see below',
      ]),
    );
    expect(() => readCommandLine(['run-1', '--deadline', '1'], checked)).toThrow(/^run-1 of object/);
  });

  it('suggests only similar options', () => {
    expect(problemsOf('run-1', '--deadline', '1', '--colour')).toEqual(['there is no option --colour']);
  });

  it("knows no option by an object's own name", () => {
    expect(problemsOf('run-1', '--deadline', '1', '--constructor')).toEqual([
      'there is no option --constructor',
    ]);
  });
});
