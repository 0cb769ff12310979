/** `npm start` and `tidewheel up`: refuses what is wrong, sets up what a region needs, then runs it. */
import path from 'node:path';
import { pythonIsCurrent } from './install.mjs';
import { places } from './places.mjs';
import { runInForeground } from './program.mjs';
import { setUp } from './set-up.mjs';
import { START_HELP, startMistakes } from './start-options.mjs';

/** A listener to 'disconnect' would keep the child alive for ever; this lets it end when its work is done. */
const LET_CHANNEL_GO = '--import=data:text/javascript,process.channel?.unref()';

/** As packages/kit/command-line.ts does it, which needs npm packages. */
function refuse(mistakes, help, code) {
  process.stderr.write(`${mistakes.map((mistake) => `✗ ${mistake}\n`).join('')}\n${help}`);
  return code;
}

/**
 * @param {string[]} args
 * @param {{ help?: string, wrongCode?: number }} [command] its help, and the exit code of words that are wrong
 * @returns {Promise<number>} the exit code
 */
export async function startRegion(args, { help = START_HELP, wrongCode = 2 } = {}) {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(help);
    return 0;
  }
  const mistakes = startMistakes(args);
  if (mistakes.length > 0) return refuse(mistakes, help, wrongCode);
  await setUp({ develop: false, python: false });
  if (!pythonIsCurrent('run')) {
    const code = await runInForeground([places.node, path.join(places.root, 'cli', 'may-start.ts'), ...args]);
    if (code !== 0) return code;
  }
  await setUp({ develop: false });
  const script = path.join(places.root, 'cli', 'start.ts');
  // The channel closes when this process dies, even by SIGKILL: the child ends then.
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
  return runInForeground([places.node, LET_CHANNEL_GO, script, ...args], { stdio });
}
