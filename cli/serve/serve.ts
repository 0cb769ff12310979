/** Serves until the session ends: every run of every pipeline, every file of the drop folder and every stray is on the screen. */
import { printable } from '@tidewheel/kit/command-line.ts';
import pc from 'picocolors';
import type { Screen } from '../show/screen.ts';
import { nextSteps } from '../show/where-to-look.ts';
import { watchDropFolder } from './drop-folder.ts';
import type { NewsLine } from './news.ts';
import type { Session } from './session.ts';
import { watchStrays } from './strays.ts';
import { watchRuns } from './watch-runs.ts';

interface Watch {
  /** Shows the runs of this pipeline too; they were followed in full elsewhere. */
  showAll(): void;
  readonly ended: Promise<unknown>;
}

/** @param elsewhere a pipeline whose runs something else shows */
export async function watchService(session: Session, elsewhere: string | undefined): Promise<Watch> {
  let hidden = elsewhere;
  const runs = await watchRuns(session, (line) => line.pipeline !== hidden && show(session.screen, line));
  return {
    showAll: () => {
      hidden = undefined;
    },
    ended: Promise.all([runs.ended, watchStrays(session)]),
  };
}

function show(screen: Screen, { kind, text }: NewsLine): void {
  const time = pc.dim(new Date().toISOString().slice(11, 19));
  screen.line(`${time} ${kind === 'problem' ? pc.red(printable(text)) : printable(text)}`);
}

export async function serveDrops(session: Session, watch: Watch): Promise<void> {
  const { screen } = session;
  const folder = await watchDropFolder(session);
  screen.line();
  screen.done('ready for a drop (Ctrl-C ends)');
  for (const line of nextSteps(session.region, session.stateDirectory)) screen.line(line);
  await watch.ended;
  await folder.close();
}
