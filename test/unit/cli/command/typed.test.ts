/** Commands are printed as the person can type them. */
import { expect, it } from 'vitest';
import { terminalOf } from '../../../../cli/command/terminal.ts';
import { placeOfState, programTyped, typedTerminal } from '../../../../cli/command/typed.ts';
import { runOf } from '../../../../cli/verbs/interrupt.ts';

const verbs = new Set(['watch', 'init', 'model', 'delete-checkpoints']);

function printed(text: string, words: readonly string[], program = 'tidewheel'): string {
  const said: string[] = [];
  const terminal = { ...terminalOf(process, {}), print: (line: string) => void said.push(line) };
  typedTerminal(terminal, { words, program, verbs }).print(text);
  return said.join('\n');
}

it.each([
  [
    'to have it here: tidewheel model get a-000001',
    'to have it here: tidewheel model --state /s get a-000001',
  ],
  ['npx --no-install tidewheel watch', 'tidewheel watch --state /s'],
  ['write one with tidewheel init, in tidewheel.yaml', 'write one with tidewheel init, in tidewheel.yaml'],
  ['tidewheel delete-checkpoints RUN', 'tidewheel delete-checkpoints --state /s RUN'],
  ['tidewheel is a program', 'tidewheel is a program'],
])('with the deployment: %s', (text, typed) => {
  expect(printed(text, ['drop', '--state', '/s'])).toBe(typed);
});

it('by the program that printed them', () => {
  const text = printed('tidewheel init, npx tidewheel watch', ['drop'], '/t/tidewheel.mjs');
  expect(text).toBe('/t/tidewheel.mjs init, /t/tidewheel.mjs watch');
});

it.each([
  ['/usr/bin/tidewheel', { PATH: '/bin:/usr/bin' }, 'tidewheel'],
  ['/clone/cli/tidewheel.mjs', { PATH: '/bin:/clone/cli' }, '/clone/cli/tidewheel.mjs'],
  ['/my clone/tidewheel', {}, "'/my clone/tidewheel'"],
  ['/npx/tidewheel', { PATH: '/npx', npm_command: 'exec' }, 'npx --no-install tidewheel'],
])('%s is named so that npx asks no registry', (file, environment, typed) => {
  expect(programTyped(file, environment)).toBe(typed);
});

it.each([
  [['drop', '--state', 'a b'], " --state 'a b'"],
  [['drop', '--stage=prod', '--region', 'us-east-1', '-w'], ' --stage prod --region us-east-1'],
  [['drop', '--state'], ''],
  [['runs', '--state', '/s', '--json'], ''],
  [['logs', '--state', '/s'], ''],
])('as %j names it', (words, place) => {
  expect(printed('tidewheel watch', words)).toBe(`tidewheel watch${place}`);
});

it('needs no words where verbs look by themselves', () => {
  expect(placeOfState('/home/ada/.tidewheel')).toBe('');
  expect(placeOfState('/tmp/region')).toBe('--state /tmp/region');
});

it("an interruption takes a pipeline's name, too", () => {
  const jobs = [{ run: 'a-b-000002' }, { run: 'a-b-000010' }, { run: 'a-000011' }];
  expect(['a-b', 'a-b-000002', 'job-7'].map((named) => runOf(named, jobs))).toEqual([
    'a-b-000010',
    'a-b-000002',
    'job-7',
  ]);
});
