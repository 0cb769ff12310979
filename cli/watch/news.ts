/** What `watch` writes where lines cannot be drawn again: each event of the run once, and its progress now and then. */

import pc from 'picocolors';
import { lateTexts } from '../../client/amounts.ts';
import { codeText } from '../../client/run-view.ts';
import { momentText, safe } from '../command/format.ts';
import { screenLines, silenceText, type Watched } from './screen.ts';
import { settledText } from './settling.ts';
import { type Position, positionOf, preparingText, shownMetric } from './view.ts';

/** A line of progress at each such share of the work. */
const STEPS = 20;
/** Between two lines of progress without a total. */
const PAUSE_MILLISECONDS = 30_000;
const WITHOUT_COLOURS = pc.createColors(false);

export class News {
  readonly #shown = new Set<string>();
  #share = -1;
  #step = 0;
  #progressAt = 0;
  #hasWaited = false;
  #silentSince: number | undefined;

  /** @returns the lines that are new since the last call */
  of(watched: Watched): string[] {
    if (watched.silentSince !== undefined) return this.#silence(watched.silentSince);
    this.#silentSince = undefined;
    const lines = watched.view.timeline.flatMap(({ id, at, kind, text }) => {
      if (this.#shown.has(id)) return [];
      this.#shown.add(id);
      return [`${at.slice(0, 19)}Z ${kind}: ${safe(text)}`];
    });
    return [...lines, ...this.#wait(watched), ...this.#preparing(watched), ...this.#progress(watched)];
  }

  #preparing({ view }: Watched): string[] {
    const text = preparingText(view);
    if (text === undefined || this.#shown.has(text)) return [];
    this.#shown.add(text);
    return [text];
  }

  #silence(since: number): string[] {
    if (this.#silentSince === since) return [];
    this.#silentSince = since;
    return [silenceText(since, Date.now())];
  }

  #wait({ view: { run }, settle }: Watched): string[] {
    if (settle === undefined || this.#hasWaited) return [];
    this.#hasWaited = true;
    return [`${run.createdAt.slice(0, 19)}Z ${run.runId} settles: it packs ${settledText(settle)}`];
  }

  #progress({ view, series }: Watched): string[] {
    const at = positionOf(view, series);
    if (at === undefined || !this.#isProgress(at)) return [];
    const metric = shownMetric(view, series);
    const now = new Date();
    return [
      [
        `${now.toISOString().slice(0, 19)}Z ${at.unit} ${at.step}${at.total === undefined ? '' : ` of ${at.total}`}`,
        ...(metric === undefined ? [] : [`${safe(metric.name)} ${Number(metric.value.toPrecision(4))}`]),
        ...endTexts(view.money.expected, now),
      ].join(', '),
    ];
  }

  /** Where the script says no total, time is the measure. */
  #isProgress({ step, total }: Position): boolean {
    if (total !== undefined) {
      const share = Math.floor((step / total) * STEPS);
      const isNew = share !== this.#share;
      this.#share = share;
      return isNew;
    }
    const now = Date.now();
    if (step === this.#step || now - this.#progressAt < PAUSE_MILLISECONDS) return false;
    [this.#step, this.#progressAt] = [step, now];
    return true;
  }
}

/** The last words on a run: the screen without its life line and colours, of any width. */
export function summary(watched: Watched): string[] {
  const code = codeText(watched.view.run);
  return [
    ...screenLines(watched, { now: Date.now(), columns: 1_000, colours: WITHOUT_COLOURS })
      .filter((line) => !line.startsWith('settle'))
      .map((line) => line.replaceAll(/ {4,}/g, '   ')),
    ...(code === undefined ? [] : [`code ${safe(code)}`]),
  ];
}

function endTexts(expected: Watched['view']['money']['expected'], now: Date): readonly string[] {
  if (expected === undefined) return [];
  const { finishAt, lateChance } = expected;
  const at = (time: string, second?: '2-digit'): string => momentText(new Date(time), now, second);
  const second = at(finishAt.low) === at(finishAt.high) ? '2-digit' : undefined;
  const done = `done about ${at(finishAt.expected)} (${at(finishAt.low, second)} to ${at(finishAt.high, second)})`;
  return [done, ...lateTexts(lateChance)];
}
