/** Scripts, keys and messages reach a terminal as text: they cannot steer it. */
/* oxlint-disable no-control-regex -- the tests look for them */
import { PassThrough } from 'node:stream';
import { printable } from '@tidewheel/kit/command-line.ts';
import { describe, expect, it } from 'vitest';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { terminalScreen } from '../../../cli/show/screen.ts';

const HOSTILE = {
  'clears the screen': 'a\u001b[2Jb',
  'sets the title': 'a\u001b]0;owned\u0007b',
  'makes a link': 'a\u001b]8;;http://evil.example\u001b\\b',
  'hides what follows': 'a\u001b[8mb',
  'sends the cursor up': 'a\u001b[12;1Hb',
  'begins a sequence that does not end': 'a\u001b[12',
  'begins a title that does not end': 'a\u001b]0;b',
  'resets the terminal': 'a\u001bcb',
  'begins a sequence in one character': 'a\u009b2Jb',
  'writes over the line': 'a\rb',
  'deletes what was before': 'a\b\u007fb',
  'rings a bell': 'a\u0007\0b',
  'turns its direction': 'a\u202egpj.exe\u202cb',
  'sets a part apart': 'a\u2066\u2067\u2068b\u2069',
};
const OBEYED = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

function stream(isTTY: boolean) {
  const chunks: string[] = [];
  const through = new PassThrough();
  through.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return { out: Object.assign(through, { isTTY }) as never, written: () => chunks.join('') };
}

describe.each(Object.entries(HOSTILE))('a text that %s', (_, text) => {
  it('does not steer a screen', () => {
    const { out, written } = stream(false);
    const screen = terminalScreen(out);
    screen.line(text);
    screen.done(text);
    screen.problem(text);
    screen.bar(text, 1, 1, text);
    expect(written().replaceAll(/\u001b\[(2|22|3[1-6]|39)m/g, '')).not.toMatch(OBEYED);
    expect(written().match(/a/g)).toHaveLength(5);
  });

  it.each([true, false])('does not steer a terminal (%s)', (isTTY) => {
    const to = stream(isTTY);
    const beside = stream(isTTY);
    const streams = { stdin: stream(false).out, stdout: to.out, stderr: beside.out };
    const terminal = terminalOf(streams, {});
    terminal.print(text);
    terminal.note(text);
    terminal.problem(text);
    const own = /\u001b\[(2|22|31|39)m/g;
    expect(`${to.written()}${beside.written()}`.replaceAll(own, '')).not.toMatch(OBEYED);
    terminal.redraw([text], 0);
    expect(to.written().replaceAll(/\u001b\[2K|\u001b\[J/g, '')).not.toMatch(OBEYED);
    expect(to.written().match(/a/g)).toHaveLength(2);
  });
});

it('a text keeps its lines, tabs and letters', () => {
  const text = 'epoch\t1\nlöss 0.5 日本 👍\n';
  expect(printable(text)).toBe(text);
});

it('a document keeps its values', () => {
  const document = { name: '\u001b[2J\u009b\u007f\r\u202e' };
  expect(JSON.parse(printable(JSON.stringify(document)))).toEqual(document);
});

it('our own colours reach a terminal that has colours', () => {
  const coloured = '\u001b[31mred\u001b[39m \u001b[1mbold\u001b[22m';
  expect(printable(coloured, { keepsColours: true })).toBe(coloured);
  expect(printable(coloured)).toBe('red bold');
});
