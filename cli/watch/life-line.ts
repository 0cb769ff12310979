/** The life line in one line of a terminal: settle, pack, and every attempt as long as it was, with what it lost. */
import { timesOfAttempt } from '../../client/run-view.ts';
import type { Colours } from '../command/terminal.ts';
import type { WatchedRun } from './view.ts';

const SAVED = '━';
const LOST = '▒';
const CUT = '╳';
const RUNS = '▶';
const WAITS = '·';
const LEAST_BAR = 1;
/** Shorter bars have no room for a label. */
const LABELLED_ATTEMPTS = 4;

interface Piece {
  readonly label: string;
  /** Milliseconds, without and with a save. */
  readonly kept: number;
  readonly lost: number;
  readonly end: string;
  readonly isOnDemand: boolean;
}

/** @param columns the line's width at most */
export function lifeLineText(view: WatchedRun, now: number, columns: number, colours: Colours): string {
  const { run, attempts } = view;
  const settle = run.closedAt === undefined ? 'settle…▏' : 'settle▏';
  const pack = run.status === 'packing' ? 'pack…▏' : run.sealedAt === undefined ? '' : 'pack▏';
  const place = run.status === 'placing' ? `${WAITS}${WAITS} looks for a pool` : '';
  const room = columns - settle.length - pack.length - place.length - 1;
  const pieces = attempts.map((_, index) => pieceOf(view, index, now));
  return [colours.dim(settle + pack), ...bars(pieces, room, colours), colours.dim(place)].join('');
}

function pieceOf({ attempts, report }: WatchedRun, index: number, now: number): Piece {
  const attempt = attempts[index];
  if (attempt === undefined) throw new RangeError(`there is no attempt at ${index}`);
  const { instanceType, zoneId, purchaseOption } = attempt.placement.pool;
  const before = attempts[index - 1]?.placement.pool;
  const reported = report?.attempts.find((each) => each.attempt === attempt.attempt);
  const { begun, lostFrom, end } = timesOfAttempt(attempt, reported, now);
  return {
    label: [
      ...(before?.instanceType === instanceType ? [] : [instanceType]),
      ...(zoneId === undefined ? [] : [zoneId.replace(/^.*-/, '')]),
    ].join(' '),
    kept: lostFrom - begun,
    lost: end - lostFrom,
    end: attempt.outcome === undefined ? RUNS : attempt.outcome.kind === 'completed' ? '' : CUT,
    isOnDemand: purchaseOption === 'on-demand',
  };
}

function bars(pieces: readonly Piece[], room: number, colours: Colours): string[] {
  const shown = fitting(pieces, room);
  const hidden = pieces.length - shown.length;
  const folded = hidden > 0 ? ` ${hidden} more attempts ` : '';
  const isLabelled = shown.length <= LABELLED_ATTEMPTS;
  const words = isLabelled
    ? shown.map(({ label }) => (label === '' ? ' ' : ` ${label} `))
    : shown.map(() => '');
  const free = room - folded.length - words.join('').length - shown.length;
  const whole = Math.max(
    1,
    shown.reduce((sum, { kept, lost }) => sum + kept + lost, 0),
  );
  const length = (milliseconds: number): number =>
    milliseconds <= 0 ? 0 : Math.max(LEAST_BAR, Math.floor((milliseconds / whole) * free * 0.9));
  return [
    colours.dim(folded),
    ...shown.map((piece, index) => {
      const colour = piece.isOnDemand ? colours.yellow : colours.cyan;
      const end = piece.end === CUT ? colours.red(CUT) : colour(piece.end);
      const bar = colour(SAVED.repeat(length(piece.kept))) + end;
      return words[index] + bar + colours.red(LOST.repeat(length(piece.lost)));
    }),
  ];
}

/** The newest attempts, as many as have a mark each. */
function fitting(pieces: readonly Piece[], room: number): readonly Piece[] {
  const most = Math.max(1, Math.floor((room - 20) / 3));
  return pieces.length <= most ? pieces : pieces.slice(-most);
}
