/** Runs of all pipelines by the time of their last change, from the list by their beginnings. */
import type { ListedRun } from './run-records.ts';
import { type BegunPage, begunAtOf, type Stores, type Tell } from './stores.ts';

const RUNS_A_PAGE = 1_000;
/** A run may end long after it began. */
const LONGEST_RUN_MILLISECONDS = 35 * 86_400_000;

interface Span {
  /** Included. */
  readonly from: string;
  /** Excluded. */
  readonly to?: string | undefined;
  readonly tell?: Tell | undefined;
}

/** Probes too. */
export async function runsChangedIn(
  { runs }: Pick<Stores, 'runs'>,
  { from, to, tell }: Span,
): Promise<ListedRun[]> {
  const since = new Date(Date.parse(from) - LONGEST_RUN_MILLISECONDS).toISOString();
  const found: ListedRun[] = [];
  let before = to;
  do {
    const page: BegunPage = await runs.listBegun({ limit: RUNS_A_PAGE, before, since, probes: true, tell });
    found.push(
      ...page.runs.filter(({ updatedAt }) => updatedAt >= from && (to === undefined || updatedAt < to)),
    );
    const last = page.runs.length < RUNS_A_PAGE ? undefined : page.runs.at(-1);
    before = page.searchedTo ?? (last && begunAtOf(last));
  } while (before !== undefined);
  return found;
}
