/** Lines and progress bars on a terminal; plain lines where there is none, so that a log stays readable. */
import { printable } from '@tidewheel/kit/command-line.ts';
import pc from 'picocolors';

export interface Screen {
  line(text?: string): void;
  /** A step of the start-up; the mark tells a finished one. */
  done(text: string): void;
  problem(text: string): void;
  /** Draws or redraws a bar; a finished one stays. */
  bar(label: string, value: number, total: number, note?: string): void;
}

const WIDTH = 28;
/** Without a terminal a bar is a line at each of these shares. */
const STEPS = 4;

export function terminalScreen(out: NodeJS.WriteStream): Screen {
  const live = out.isTTY === true;
  let drawn: string | undefined;
  const reported = new Map<string, number>();
  const clear = () => {
    if (drawn !== undefined) out.write('\n');
    drawn = undefined;
  };
  const own = { keepsColours: pc.isColorSupported };
  const write = (text: string) => {
    clear();
    out.write(`${printable(text, own)}\n`);
  };
  return {
    line: (text = '') => write(text),
    done: (text) => write(`${pc.green('✓')} ${printable(text)}`),
    problem: (text) => write(`${pc.red('✗')} ${printable(text)}`),
    bar: (label, value, total, note = '') => {
      const words = `  ${label.padEnd(10)} ${barOf(value, total)} ${value}/${total} ${pc.dim(note)}`;
      const text = printable(words, own);
      if (live) {
        if (drawn !== undefined && drawn !== label) out.write('\n');
        out.write(`\r\u001b[2K${text}`);
        drawn = value >= total ? undefined : label;
        if (value >= total) out.write('\n');
        return;
      }
      const step = total > 0 ? Math.floor((value / total) * STEPS) : 0;
      const last = reported.get(label);
      // A bar that runs again (the next attempt, the next drop) starts its lines again.
      if (last === step && value < total) return;
      if (last === STEPS && step === STEPS) return;
      reported.set(label, step);
      out.write(`${text}\n`);
    },
  };
}

function barOf(value: number, total: number): string {
  const filled = total > 0 ? Math.min(WIDTH, Math.max(0, Math.round((value / total) * WIDTH))) : 0;
  return `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
}
