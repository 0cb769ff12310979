/** What may become of a fleet on EC2: by chance, and on Spot by the market. */
import type { JobDocument } from '../../../functions/launch/job/job-document.ts';
import type { FleetScript, ScriptedFleet } from '../fakes/fleets.ts';
import type { Spell } from '../market/traces.ts';
import { checkpoint, runOf, TOTAL_STEPS, type Trainee } from './job-scripts.ts';

const START_SECONDS = 120;
const SPOT_NOTICE_SECONDS = 120;

export function fleetScriptOf(trainee: Trainee, document: JobDocument): FleetScript {
  const { random, clock } = trainee;
  const spell = document.managedSpot ? trainee.spell() : STEADY;
  if (spell === undefined || spell.startsIn > 0) return noCapacity;
  const run = runOf(document);
  const now = () => clock.now().toISOString();
  const all = (fleet: ScriptedFleet, say: Parameters<ScriptedFleet['say']>[1]) => {
    for (const id of fleet.instanceIds) fleet.say(id, say);
  };
  const end = (fleet: ScriptedFleet) => {
    for (const id of fleet.instanceIds) fleet.terminate(id);
  };
  const start = { at: START_SECONDS, act: (fleet: ScriptedFleet) => all(fleet, { startedAt: now() }) };
  const save = { at: 900, act: () => checkpoint(trainee, run, random.whole(5, 40)) };
  const later = random.whole(1_000, 3_000);
  const ends = (said: Parameters<ScriptedFleet['say']>[1]) => (fleet: ScriptedFleet) => {
    all(fleet, { endedAt: now(), ...said });
    end(fleet);
  };
  const modelUri = `s3://memory-bucket/${document.TrainingJobName}/model.tar.gz`;
  const dice = random.next();
  const finish = (fleet: ScriptedFleet) => {
    checkpoint(trainee, run, TOTAL_STEPS);
    ends({ exitCode: 0, modelUri })(fleet);
  };
  // A refilled gang finishes. A gang that could not be refilled has ended long before.
  const finishRefilled = (fleet: ScriptedFleet) => {
    if (fleet.members().every((id) => fleet.instanceIds.includes(id))) return;
    checkpoint(trainee, run, TOTAL_STEPS);
    for (const id of fleet.members()) {
      fleet.say(id, { endedAt: now(), exitCode: 0, modelUri });
      fleet.terminate(id);
    }
  };
  if (dice < 0.65 && later < spell.endsIn) return [start, save, { at: later, act: finish, event: 'state' }];
  if (dice < 0.65)
    return [
      start,
      save,
      ...reclaim(spell.endsIn, now),
      { at: spell.endsIn + 2_000, act: finishRefilled, event: 'state' as const },
    ].toSorted((one, other) => one.at - other.at);
  if (dice < 0.72) return noCapacity;
  // Hosts that hang and send no report.
  if (dice < 0.8) return [];
  if (dice < 0.86) return [start, save, { at: later, act: end, event: 'state' }];
  if (dice < 0.92) return [start, save, { at: later, act: ends({ exitCode: 143, stoppedBy: 'timeLimit' }) }];
  if (dice < 0.98) return [start, { at: later, act: ends({ exitCode: 1, ...failureBy(dice) }) }];
  return [start, save];
}

/** Of the script, or of the platform before it. */
const failureBy = (dice: number): Parameters<ScriptedFleet['say']>[1] =>
  dice < 0.95
    ? { failure: 'the script raised' }
    : { phase: 'downloading', failure: 'Platform failure (storage): AwsCliError: Could not connect' };

/** On demand. */
const STEADY: Spell = { startsIn: 0, endsIn: Number.POSITIVE_INFINITY };

const noCapacity: FleetScript = [
  {
    at: 60,
    act: (fleet) => {
      for (const id of fleet.instanceIds) fleet.terminate(id, 'Server.InsufficientInstanceCapacity');
    },
  },
];

/** The notice, and two minutes later the end of one host; the others continue until a request reaches them. */
function reclaim(at: number, now: () => string): FleetScript {
  const take = (fleet: ScriptedFleet) => {
    const [taken] = fleet.instanceIds;
    if (taken === undefined) return;
    fleet.say(taken, { endedAt: now(), exitCode: 143, stoppedBy: 'spot' });
    fleet.terminate(taken, 'Server.SpotInstanceTermination');
  };
  return [
    { at, act: () => {}, event: 'warning' },
    { at: at + SPOT_NOTICE_SECONDS, act: take, event: 'state' },
  ];
}
