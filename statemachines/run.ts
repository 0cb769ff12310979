/** The state machine of a run. `npm run compose` writes it to run.asl.json. */
import {
  choice,
  fail,
  forEach,
  machineOf,
  on,
  PATIENT,
  pass,
  states,
  succeed,
  task,
  taskSeconds,
  taskWithToken,
  UNAVAILABLE,
  wait,
  when,
} from './compose.ts';

const RUN = { 'runId.$': '$.runId', 'pipeline.$': '$.pipeline' };
const ITEM = { ...RUN, 'item.$': '$$.Map.Item.Value' };

/** Nothing is decided while AWS cannot be reached; any other error ends the run. */
const tryLater = on(UNAVAILABLE, 'TakeUpLater');
const failRun = on('States.ALL', 'Report');
const endRun = [tryLater, failRun];
const planAgain = on(['PlanOutdatedError'], 'WaitForOldWorkers');
/** A run trains without a compaction too. */
const skipCompaction = [on('States.ALL', 'NoteCompactionFailed')];

const packing = states('PackShard', {
  PackShard: task(
    'pack-shards',
    'One item of the plan: read its objects, write its shards and their completion record.',
    { catch: [on(['PlanOutdatedError'], 'LeaveToNewPlan')] },
  ),
  LeaveToNewPlan: pass(
    'A release was deployed meanwhile. Failing here would stop the other items; the seal finds the shard missing.',
    {},
  ),
});

const compaction = states('CompactShard', {
  CompactShard: task(
    'pack-shards',
    'One item of the compaction: reads sealed shards in turn, writes the joined ones and their completion record.',
    {},
  ),
});

export const machine = machineOf(
  'One run: from arrivals to a trained model and its report. Every state can run twice; what to do is always decided from the bucket and the records.',
  'Settle',
  {
    Settle: task(
      'settle',
      'Has the batch of arrivals been quiet for the settle window? Reads the bucket, closes the batch.',
      { resultPath: '$.settle', catch: endRun, next: 'IsSettled' },
    ),
    IsSettled: choice(
      'Wait for quiet, or go on with the closed batch.',
      [when('$.settle.kind', 'wait', 'WaitForQuiet')],
      'PlanShards',
    ),
    WaitForQuiet: wait(
      'As long as the settle window still needs; the observation travels back into the next look.',
      '$.settle.seconds',
      'LookAgain',
    ),
    LookAgain: pass('Keeps the payload small: only what the next look needs.', {
      parameters: { ...RUN, 'observation.$': '$.settle.observation' },
      next: 'Settle',
    }),

    PlanShards: task('plan-shards', 'Lists what is new and writes the deterministic plan to S3.', {
      parameters: RUN,
      resultPath: '$.plan',
      catch: [tryLater, planAgain, failRun],
      next: 'IsThereWork',
    }),
    IsThereWork: choice(
      'Nothing new: end as empty, unless somebody asked for a model all the same.',
      [when('$.plan.status', 'planned', 'PackShards'), when('$.settle.trainAnyway', true, 'Judge')],
      'NothingNew',
    ),
    NothingNew: pass('Tells the report that there was nothing to do.', {
      parameters: { ...RUN, judgement: { kind: 'empty', reason: 'nothing new arrived' } },
      next: 'Report',
    }),
    PackShards: forEach("Packs the plan's items side by side; an item that is done already is skipped.", {
      itemsKey: "States.Format('{}/runs/{}/plan/items.json', $.pipeline, $.runId)",
      resultsPrefix: "States.Format('{}/runs/{}/map', $.pipeline, $.runId)",
      select: ITEM,
      processor: packing,
      resultPath: '$.pack',
      catch: [failRun],
      next: 'SealDataset',
    }),
    SealDataset: task(
      'seal-dataset',
      'Proves that every arrival is in exactly one shard or rejected, and writes the manifest last.',
      {
        parameters: RUN,
        resultPath: '$.seal',
        catch: [tryLater, planAgain, failRun],
        next: 'IsThereData',
      },
    ),
    WaitForOldWorkers: wait(
      'A Lambda lives 15 minutes at most: then nobody packs the outdated plan any more.',
      taskSeconds('pack-shards'),
      'PlanAnew',
    ),
    PlanAnew: task(
      'plan-shards',
      'Plans in the place of a plan of another release; its shards get a folder of their own.',
      { parameters: { ...RUN, anew: true }, resultPath: '$.plan', catch: endRun, next: 'IsThereWork' },
    ),
    IsThereData: choice(
      'A batch of which everything was rejected trains nothing.',
      [when('$.seal.status', 'nothingToTrain', 'NothingToTrain')],
      'PlanCompaction',
    ),
    NothingToTrain: pass('Tells the report that every arrival was rejected.', {
      parameters: {
        ...RUN,
        judgement: {
          kind: 'failed',
          reason: 'every arrival of the batch was rejected; the timeline and the report name the reasons',
        },
      },
      next: 'Report',
    }),

    PlanCompaction: task(
      'plan-shards',
      'Are there too many small generations? Plans to join them; a version that somebody reads or pins is not touched.',
      {
        parameters: { ...RUN, compact: true },
        resultPath: '$.compaction',
        catch: skipCompaction,
        next: 'IsThereToCompact',
      },
    ),
    IsThereToCompact: choice(
      'Seldom: every so many runs.',
      [when('$.compaction.status', 'planned', 'CompactShards')],
      'Judge',
    ),
    CompactShards: forEach(
      'Joins sealed shards into larger ones side by side; an item that is done already is skipped.',
      {
        itemsKey: '$.compaction.itemsKey',
        resultsPrefix: "States.Format('{}/runs/{}/map/compaction', $.pipeline, $.runId)",
        select: ITEM,
        processor: compaction,
        resultPath: '$.compacted',
        catch: skipCompaction,
        next: 'SealCompaction',
      },
    ),
    SealCompaction: task(
      'seal-dataset',
      'Proves that the joined generation holds what the small ones held, and puts it in their place by one conditional write.',
      {
        parameters: { ...RUN, 'compacted.$': '$.compaction.generation' },
        resultPath: '$.compacted',
        catch: skipCompaction,
        next: 'Judge',
      },
    ),
    NoteCompactionFailed: task(
      'seal-dataset',
      'Says so on the timeline; the run trains on the generations as they are.',
      {
        parameters: { ...RUN, 'troubled.$': '$.error' },
        resultPath: '$.compacted',
        catch: [on('States.ALL', 'ForgetCompaction')],
        next: 'ForgetCompaction',
      },
    ),
    ForgetCompaction: pass('What went wrong there is no failure of the run.', {
      parameters: RUN,
      next: 'Judge',
    }),

    Judge: task(
      'judge',
      "Where does training stand? Decided from records, Describe and the checkpoint's progress.",
      {
        resultPath: '$.judgement',
        catch: endRun,
        next: 'WhatNext',
      },
    ),
    WhatNext: choice(
      'Place an attempt, take up an open one, wait for one to stop, hand over before the history is full, or end.',
      [
        when('$.judgement.kind', 'place', 'Place'),
        when('$.judgement.kind', 'relaunch', 'Launch'),
        when('$.judgement.kind', 'wait', 'WaitForStop'),
        when('$.judgement.kind', 'handOver', 'HandOver'),
      ],
      'Report',
    ),
    WaitForStop: wait(
      'A job that ran out of time is being stopped and saves.',
      '$.judgement.seconds',
      'Judge',
    ),
    Place: task(
      'place',
      'Chooses topology and pool for the next attempt, or to wait, or to give up; stores the reasons.',
      { parameters: RUN, resultPath: '$.placement', catch: endRun, next: 'IsPlaced' },
    ),
    IsPlaced: choice(
      'Launch, wait for better capacity, or end with the reason.',
      [
        when('$.placement.kind', 'launch', 'UsePlacement'),
        when('$.placement.kind', 'wait', 'WaitForCapacity'),
      ],
      'GiveUp',
    ),
    WaitForCapacity: wait(
      'Slack is left: look again when the market may have changed.',
      '$.placement.seconds',
      'Judge',
    ),
    UsePlacement: pass('The attempt that Launch starts.', {
      parameters: {
        kind: 'launch',
        'attempt.$': '$.placement.attempt',
        'timeoutSeconds.$': '$.placement.timeoutSeconds',
      },
      resultPath: '$.judgement',
      next: 'Launch',
    }),
    GiveUp: pass("Placement cannot go on; its reason becomes the run's.", {
      parameters: { kind: 'failed', 'reason.$': '$.placement.reason' },
      resultPath: '$.judgement',
      next: 'Report',
    }),
    Launch: taskWithToken(
      'launch',
      'Starts the training job, or finds it started, and waits until events or reconcile tell its end.',
      {
        payload: { ...RUN, 'attempt.$': '$.judgement.attempt' },
        timeoutSecondsPath: '$.judgement.timeoutSeconds',
        resultPath: '$.launch',
        catch: [on('States.Timeout', 'LaunchTimedOut', '$.launch'), ...endRun],
        next: 'LaunchEnded',
      },
    ),
    LaunchEnded: pass('Keeps the payload small over hundreds of attempts.', {
      parameters: RUN,
      next: 'Judge',
    }),
    LaunchTimedOut: pass('Nobody told the end in time: Judge asks, and stops what still runs.', {
      parameters: { ...RUN, timedOut: true },
      next: 'Judge',
    }),
    HandOver: task(
      'reconcile',
      'An execution fails at 25,000 events; the run goes on in a successor well before that. Should it fail, reconcile does the same.',
      {
        parameters: { handOver: { 'runId.$': '$.runId', 'from.$': '$$.Execution.Name' } },
        resultPath: '$.handOver',
        next: 'HandedOver',
      },
    ),
    HandedOver: succeed('The successor has the run now.'),

    Report: task(
      'report',
      'Writes what the run cost and came to, and closes it; also after an error of any state.',
      { resultPath: '$.report', retry: PATIENT, next: 'HowItEnded' },
    ),
    TakeUpLater: fail(
      'A trouble that passes outlasted the retries: nothing is decided, reconcile goes on in the next execution.',
      {
        Error: 'TakeUpLater',
        Cause: 'AWS could not be reached for too long; reconcile takes the run up again',
      },
    ),
    HowItEnded: choice(
      "The execution's own status says what the run came to.",
      [when('$.report.status', 'failed', 'RunFailed')],
      'RunFinished',
    ),
    RunFinished: succeed('A model, or nothing to do.'),
    RunFailed: fail('The reason is in the report and on the run.', {
      ErrorPath: '$.report.status',
      CausePath: '$.report.failure',
    }),
  },
);
