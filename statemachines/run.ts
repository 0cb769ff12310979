/** The state machine of a run. `npm run generate` writes it to run.asl.json. */
import {
  choice,
  fail,
  forEach,
  MAP_FAILED,
  machineOf,
  on,
  PATIENT,
  pass,
  states,
  succeed,
  type Transition,
  task,
  taskSeconds,
  taskWithToken,
  UNAVAILABLE,
  wait,
  waitUntil,
  when,
} from './compose.ts';

const RUN = { 'runId.$': '$.runId', 'pipeline.$': '$.pipeline' };
const ITEM = { ...RUN, 'item.$': '$$.Map.Item.Value' };

/** While AWS cannot be reached nothing is decided. Any other error ends the run. */
const endRun = [on(UNAVAILABLE, 'RetriesExhausted'), on('States.ALL', 'Report')];
const planAgain = on(['PlanOutdatedError'], 'WaitForOldWorkers');
/** The run trains without a compaction too. Report reads $.error alone, so the error stays away from it. */
const skipCompaction = [on('States.ALL', 'AbandonCompaction', '$.compactionError')];

const packing = states('PackShards', {
  PackShards: task('pack-shards', 'Packs one item of the plan into shards and records its completion.', {
    catch: [on(['PlanOutdatedError'], 'SkipOutdatedItem')],
  }),
  SkipOutdatedItem: pass('Not a failure: the seal finds the missing shard, and the run plans again.', {}),
});

const joinItem = () =>
  task('compact-shards', 'Joins the sealed shards of one item and records its completion.', {});
// No two states of a machine have one name.
const compaction = states('CompactShards', { CompactShards: joinItem() });
const drawing = states('CompactShardsOfDrawn', { CompactShardsOfDrawn: joinItem() });

/** @param plan the field that has the plan of what is joined */
const joinItems = <const Next extends string>(
  comment: string,
  { plan, ...rest }: Transition<Next> & { readonly plan: 'compaction' | 'drawing' },
) =>
  forEach(comment, {
    itemsKey: `$.${plan}.itemsKey`,
    resultsPrefix: `States.Format('{}/runs/{}/map/${plan}', $.pipeline, $.runId)`,
    select: ITEM,
    atOncePath: `$.${plan}.packers`,
    retry: true,
    processor: plan === 'drawing' ? drawing : compaction,
    ...rest,
  });

export const machine = machineOf('One run, from arrivals to a report. Every state may run twice.', 'Settle', {
  Settle: task('settle', 'Closes the batch once no arrival has changed for the settle window.', {
    resultPath: '$.settle',
    catch: endRun,
    next: 'IsSettled',
  }),
  IsSettled: choice(
    'Has the batch been closed? Judge ends a run that a person stops, and continues one that a person retries.',
    [
      when('$.settle.kind', 'wait', 'WaitForQuiet'),
      when('$.settle.kind', 'unpack', 'UnpackArchives'),
      when('$.settle.kind', 'stopped', 'Judge'),
      when('$.settle.kind', 'packed', 'IsDrawingWanted'),
    ],
    'PlanShards',
  ),
  WaitForQuiet: waitUntil('Waits for the rest of the settle window.', '$.settle.until', 'KeepObservation'),
  UnpackArchives: task('unpack-archives', 'Makes the files of archives arrivals of this batch.', {
    parameters: { ...RUN, 'work.$': '$.settle.work' },
    resultPath: '$.unpacked',
    catch: endRun,
    next: 'KeepObservation',
  }),
  KeepObservation: pass('Settle compares the bucket with what it saw last.', {
    parameters: { ...RUN, 'observation.$': '$.settle.observation' },
    next: 'Settle',
  }),

  PlanShards: task('plan-shards', 'Lists the new arrivals and writes the packing plan to the bucket.', {
    parameters: RUN,
    resultPath: '$.plan',
    catch: [planAgain, ...endRun],
    next: 'IsThereNewData',
  }),
  IsThereNewData: choice(
    'A requested run trains without new data too.',
    [when('$.plan.status', 'planned', 'FirstRound'), when('$.settle.trainAnyway', true, 'IsAnythingWaiting')],
    'NoNewData',
  ),
  IsAnythingWaiting: choice(
    'A run may have failed before the compaction that adds its generation to the dataset.',
    [when('$.plan.waiting', true, 'PlanCompaction')],
    'IsDrawingWanted',
  ),
  NoNewData: pass('The run ends as empty.', {
    parameters: { ...RUN, judgement: { kind: 'empty', reason: 'nothing new arrived' } },
    next: 'Report',
  }),
  FirstRound: pass('Of packing.', {
    parameters: { round: 1 },
    resultPath: '$.packing',
    next: 'PackInParallel',
  }),
  PackInParallel: forEach('Packs the items of the plan. An item that is packed already is skipped.', {
    itemsKey: "States.Format('{}/runs/{}/plan/items.json', $.pipeline, $.runId)",
    resultsPrefix: "States.Format('{}/runs/{}/map', $.pipeline, $.runId)",
    select: ITEM,
    atOncePath: '$.plan.packers',
    processor: packing,
    // One item that fails must not stop the others: the seal finds what is missing.
    toleratedFailurePercentage: 100,
    resultPath: '$.pack',
    catch: [on(MAP_FAILED, 'SealDataset', '$.packError'), on('States.ALL', 'Report')],
    next: 'SealDataset',
  }),
  SealDataset: task(
    'seal-dataset',
    'Proves that every arrival is in one shard or rejected. Writes the manifest.',
    {
      parameters: { ...RUN, 'round.$': '$.packing.round' },
      resultPath: '$.seal',
      catch: [planAgain, ...endRun],
      next: 'IsSealed',
    },
  ),
  IsSealed: choice(
    'A shard may be missing, and every arrival may have been rejected. Most datasets need no compaction.',
    [
      when('$.seal.status', 'incomplete', 'WaitForNextRound'),
      when('$.seal.status', 'nothingToTrain', 'AllArrivalsRejected'),
      when('$.seal.status', 'unchanged', 'IsTrainingWanted'),
      when('$.seal.mayCompact', true, 'PlanCompaction'),
    ],
    'IsDrawingWanted',
  ),
  WaitForNextRound: wait('What made items fail may pass.', '$.seal.seconds', 'NextRound'),
  NextRound: pass('SealDataset counts the rounds.', {
    parameters: { 'round.$': '$.seal.round' },
    resultPath: '$.packing',
    next: 'PackInParallel',
  }),
  IsTrainingWanted: choice(
    'The dataset holds the bytes of all arrivals. A requested run trains all the same.',
    [when('$.settle.trainAnyway', true, 'IsDrawingWanted')],
    'NoNewData',
  ),
  AllArrivalsRejected: pass('The run fails.', {
    parameters: {
      ...RUN,
      judgement: {
        kind: 'failed',
        reason: 'every arrival of the batch was rejected; the timeline and the report name the reasons',
      },
    },
    next: 'Report',
  }),

  // A release was deployed while the run packed: the plan is of the old one.
  WaitForOldWorkers: wait(
    'After this time no function of the old release packs.',
    taskSeconds('pack-shards'),
    'PlanShardsAgain',
  ),
  PlanShardsAgain: task(
    'plan-shards',
    'Replaces the plan of another release. Its shards get a folder of their own.',
    {
      parameters: { ...RUN, replaceOutdated: true },
      resultPath: '$.plan',
      catch: endRun,
      next: 'IsThereNewData',
    },
  ),

  PlanCompaction: task('plan-compaction', 'Plans to join small generations when there are too many.', {
    parameters: RUN,
    resultPath: '$.compaction',
    catch: skipCompaction,
    next: 'IsCompactionPlanned',
  }),
  IsCompactionPlanned: choice(
    'The generations may be too large or too unlike.',
    [when('$.compaction.status', 'planned', 'CompactInParallel')],
    'IsDrawingWanted',
  ),
  CompactInParallel: joinItems(
    'Compacts the items of the plan. An item that is compacted already is skipped.',
    { plan: 'compaction', resultPath: '$.compacted', catch: skipCompaction, next: 'SealCompaction' },
  ),
  SealCompaction: task(
    'seal-compaction',
    'Proves that nothing was lost and replaces the small generations.',
    {
      parameters: { ...RUN, 'generation.$': '$.compaction.generation' },
      resultPath: '$.compacted',
      catch: skipCompaction,
      next: 'IsDrawingWanted',
    },
  ),
  AbandonCompaction: task(
    'abandon-compaction',
    'Notes the error on the timeline. The small generations stay.',
    {
      parameters: { ...RUN, 'error.$': '$.compactionError' },
      resultPath: '$.compacted',
      catch: [on('States.ALL', 'IsDrawingWanted', '$.compactionError')],
      next: 'IsDrawingWanted',
    },
  ),

  IsDrawingWanted: choice(
    'A run that begins from a model may train on a part of its dataset.',
    [when('$.settle.draws', true, 'PlanCompactionOfDrawn')],
    'Judge',
  ),
  PlanCompactionOfDrawn: task(
    'plan-compaction',
    'Chooses what is new since the model, and a share of the rest.',
    {
      parameters: { ...RUN, draws: true },
      resultPath: '$.drawing',
      catch: endRun,
      next: 'IsDrawingPlanned',
    },
  ),
  IsDrawingPlanned: choice(
    'All samples may be read as they lie.',
    [when('$.drawing.status', 'planned', 'DrawInParallel')],
    'Judge',
  ),
  DrawInParallel: joinItems('Joins the chosen samples. An item that is joined already is skipped.', {
    plan: 'drawing',
    resultPath: '$.drawn',
    catch: [
      on(['States.ItemReaderFailed', 'States.ResultWriterFailed'], 'RetriesExhausted'),
      on('States.ALL', 'Report'),
    ],
    next: 'SealCompactionOfDrawn',
  }),
  SealCompactionOfDrawn: task('seal-compaction', 'Proves that the shards hold the chosen samples.', {
    parameters: { ...RUN, 'generation.$': '$.drawing.generation' },
    resultPath: '$.drawn',
    catch: endRun,
    next: 'Judge',
  }),

  Judge: task('judge', 'Decides from the records, the job and its checkpoints where training stands.', {
    resultPath: '$.judgement',
    catch: endRun,
    next: 'Diagnose',
  }),
  // Place and Report read what it says. The run goes on without it, too.
  Diagnose: task('diagnose', 'Says what held the attempt back that has ended, if one has.', {
    parameters: RUN,
    retry: { attempts: 2, delaySeconds: 10 },
    resultPath: '$.diagnosis',
    catch: [on('States.ALL', 'WhatNext', '$.diagnosis')],
    next: 'WhatNext',
  }),
  WhatNext: choice(
    'What does training need next?',
    [
      when('$.judgement.kind', 'place', 'Place'),
      when('$.judgement.kind', 'relaunch', 'Launch'),
      when('$.judgement.kind', 'wait', 'WaitForJobToStop'),
      when('$.judgement.kind', 'nextExecution', 'StartNextExecution'),
    ],
    'Report',
  ),
  WaitForJobToStop: wait(
    'The job saves a checkpoint first, or arrivals are scored.',
    '$.judgement.seconds',
    'Judge',
  ),
  Place: task('place', 'Chooses topology and pool of the next attempt, and stores the reasons.', {
    parameters: RUN,
    resultPath: '$.placement',
    catch: endRun,
    next: 'IsPlaced',
  }),
  IsPlaced: choice(
    'Launch now, wait for better capacity, or fail.',
    [when('$.placement.kind', 'launch', 'UsePlacement'), when('$.placement.kind', 'wait', 'WaitForCapacity')],
    'PlacementFailed',
  ),
  WaitForCapacity: wait('The deadline leaves time to look again later.', '$.placement.seconds', 'Judge'),
  UsePlacement: pass('The attempt that Launch starts.', {
    parameters: {
      kind: 'launch',
      'attempt.$': '$.placement.attempt',
      'timeoutSeconds.$': '$.placement.timeoutSeconds',
    },
    resultPath: '$.judgement',
    next: 'Launch',
  }),
  PlacementFailed: pass('The reason of the placement becomes that of the run.', {
    parameters: { kind: 'failed', 'reason.$': '$.placement.reason' },
    resultPath: '$.judgement',
    next: 'Report',
  }),
  Launch: taskWithToken(
    'launch',
    'Starts the job of the attempt, and waits until an event or reconcile reports its end.',
    {
      payload: { ...RUN, 'attempt.$': '$.judgement.attempt' },
      timeoutSecondsPath: '$.judgement.timeoutSeconds',
      resultPath: '$.launch',
      catch: [on('States.Timeout', 'AttemptTimedOut', '$.launch'), ...endRun],
      next: 'AttemptEnded',
    },
  ),
  AttemptEnded: pass('A run may have hundreds of attempts: only names are kept.', {
    parameters: RUN,
    next: 'Judge',
  }),
  AttemptTimedOut: pass('Judge stops the job if it still runs.', {
    parameters: { ...RUN, timedOut: true },
    next: 'Judge',
  }),
  // If this fails, the execution fails, and reconcile starts the next one.
  StartNextExecution: task('start-next-execution', 'An execution may have 25,000 events at most.', {
    parameters: { 'runId.$': '$.runId', 'execution.$': '$$.Execution.Name' },
    resultPath: '$.nextExecution',
    next: 'NextExecutionStarted',
  }),
  NextExecutionStarted: succeed('The run continues in the next execution.'),

  Report: task('report', 'Closes the run, after an error too, and writes what it cost.', {
    resultPath: '$.report',
    retry: PATIENT,
    next: 'WhatToDelete',
  }),
  // Last: it may take hours, nothing waits for it, and its failure changes no outcome.
  WhatToDelete: choice(
    'Sources are kept unless the declaration says `whenDone: delete`.',
    [when('$.report.whenDone', 'delete', 'DeletePacked')],
    'HasRunFailed',
  ),
  DeletePacked: task('delete-packed', 'Deletes packed sources for ten minutes, from its bookmark on.', {
    parameters: RUN,
    resultPath: '$.deletion',
    catch: [on('States.ALL', 'HasRunFailed', '$.deletionError')],
    next: 'IsAllDeleted',
  }),
  IsAllDeleted: choice(
    'A million sources take several turns.',
    [when('$.deletion.status', 'more', 'DeletePacked')],
    'HasRunFailed',
  ),
  HasRunFailed: choice(
    'The execution has the status of its run.',
    [when('$.report.status', 'failed', 'RunFailed')],
    'RunFinished',
  ),
  RunFinished: succeed('There is a model, a person stopped the run, or there was no new data.'),
  RunFailed: fail('The report and the run hold the reason.', {
    ErrorPath: '$.report.status',
    CausePath: '$.report.failure',
  }),
  RetriesExhausted: fail('The run stays open.', {
    Error: 'RetriesExhausted',
    Cause: 'AWS could not be reached for too long; reconcile continues the run in the next execution',
  }),
});
