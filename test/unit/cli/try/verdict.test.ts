import { describe, expect, it } from 'vitest';
import { tryCost } from '../../../../cli/try/cost.ts';
import { outputReader } from '../../../../cli/try/output.ts';
import type { Note, Phase } from '../../../../cli/try/phase.ts';
import { reportOf } from '../../../../cli/try/report.ts';
import { findingOf } from '../../../../cli/try/try-verdict.ts';

const wasRestored = (first: Phase, second: Phase) => findingOf([first, second]).restored[0];

const note = (step: number, checkpoint = 'last.pt'): Note => ({
  step,
  totalSteps: 0,
  checkpoint,
  updatedAt: `2026-01-01T00:00:${String(step % 60).padStart(2, '0')}Z`,
});
const saved = (step: number): Note => ({ ...note(step, 'study.db'), unit: 'saves' });
const phaseOf = (over: Partial<Phase>): Phase => ({
  name: 'start',
  seconds: 10,
  endedBy: 'warning',
  exitCode: 143,
  leftAfterSeconds: 1,
  before: undefined,
  atStrike: undefined,
  after: undefined,
  firstNew: undefined,
  saves: 0,
  firstSaveSeconds: undefined,
  sinceSaveSeconds: undefined,
  printed: undefined,
  restoredStep: undefined,
  beganAgainAt: undefined,
  hasStarted: true,
  refusal: undefined,
  cpuSeconds: 5,
  lines: [],
  scriptLines: 100,
  failure: '',
  checkpointFiles: [],
  otherFiles: [],
  checkpoints: '',
  ...over,
});
const printed = (first: number, last: number, word = 'step') => ({ printed: { word, first, last } });
const first = phaseOf({ after: note(40), saves: 2, ...printed(1, 50) });

describe('whether a start restored', () => {
  it.each([
    ['printed on', phaseOf({ before: note(40), ...printed(41, 60) }), 'yes'],
    ['printed from the beginning', phaseOf({ before: note(40), ...printed(1, 20) }), 'no'],
    ['another word', phaseOf({ before: note(40), ...printed(1, 2, 'epoch') }), 'unknown'],
    ['a later checkpoint', phaseOf({ before: note(40), firstNew: note(60) }), 'yes'],
    ['an earlier checkpoint', phaseOf({ before: note(40), firstNew: note(20) }), 'no'],
    ['no new checkpoint', phaseOf({ before: note(40) }), 'unknown'],
    ['what the hooks say', phaseOf({ before: note(40), restoredStep: 40, ...printed(1, 60) }), 'yes'],
  ])('follows from %s', (_, phase, restored) => {
    expect(wasRestored(first, phase)).toBe(restored);
  });

  it('follows from the first where the second was silent', () => {
    const silent = phaseOf({ before: note(40), after: note(40), endedBy: 'kill' });
    const again = phaseOf({ before: note(40), firstNew: note(60), ...printed(1, 60) });
    expect(findingOf([first, silent, again]).restored).toEqual(['unknown', 'no']);
  });

  it('does not follow from checkpoints that were counted', () => {
    const counted = phaseOf({ after: note(2), saves: 2 });
    expect(wasRestored(counted, phaseOf({ before: note(2), firstNew: note(3) }))).toBe('unknown');
    const missed = phaseOf({ after: saved(3), saves: 2 });
    expect(wasRestored(missed, phaseOf({ before: saved(4), firstNew: saved(4) }))).toBe('unknown');
  });
});

describe('the line to change', () => {
  const remedyOf = (...phases: Phase[]) => findingOf(phases).remedy;

  it('names the option that resumes', () => {
    const again = phaseOf({ before: note(40), after: note(40), endedBy: 'kill', ...printed(1, 20) });
    const finding = findingOf([first, again, again]);
    expect(finding).toMatchObject({ verdict: 'restores nothing', restored: ['no', 'no'] });
    expect(finding.remedy).toContain('${checkpoints}/last.pt?');
  });

  it('asks for the newest of numbered checkpoints', () => {
    const after = { ...note(40), checkpoint: 'run/epoch=3-step=40.ckpt' };
    const again = phaseOf({ before: note(40), after, endedBy: 'kill', ...printed(1, 20) });
    const { remedy } = findingOf([first, again, again]);
    expect(remedy).toContain('--resume=${checkpoints}/run/epoch=*-step=*.ckpt?');
  });

  it('names the files that are no known checkpoint', () => {
    expect(remedyOf(phaseOf({ checkpointFiles: ['round-12.model'] }))).toContain("pattern: 'round-*.model'");
    const inFolder = remedyOf(phaseOf({ checkpointFiles: ['out/checkpoint-100/random_states_0.pkl'] }));
    expect(inFolder).toContain("pattern: 'out/checkpoint-*'");
  });

  it('names the folder that the script saves to', () => {
    expect(remedyOf(phaseOf({ otherFiles: ['out/a.log', 'out/ckpt.pt'] }))).toContain("folder: 'out'");
    expect(remedyOf(phaseOf({ otherFiles: ['ckpt.pt'] }))).not.toContain('folder');
  });

  it.each([
    ['writes a model beside itself', [phaseOf({ otherFiles: ['mnist-0.pt'] })]],
    ['begins again', [first, phaseOf({ before: note(40), after: note(40), ...printed(1, 20) }), first]],
  ])('leaves saving to the agent where a script %s', (_, phases) => {
    expect(findingOf(phases).remedy).toContain('; where there is none, training.checkpoint: automatic');
  });

  it('does not offer what was refused', () => {
    const [restored, refused] = [
      phaseOf({ before: note(40), after: note(60), endedBy: 'kill', restoredStep: 40 }),
      phaseOf({ before: note(60), after: note(60), endedBy: 'kill', refusal: 'its tensors are lost' }),
    ];
    for (const phases of [
      [first, restored, refused],
      [first, restored, { ...refused, restoredStep: 60 }],
      [phaseOf({ refusal: 'its tensors are lost' })],
    ]) {
      const { verdict, remedy } = findingOf(phases);
      expect(verdict).toBe('automatic checkpoints fail');
      expect(remedy).toMatch(/^let the script save and resume itself, .*: its tensors are lost$/);
    }
  });

  it('offers to save for a script that does not', () => {
    expect(findingOf([phaseOf({})]).remedy).toBe('training.checkpoint: automatic');
  });
});

describe('a script without PyTorch', () => {
  const script = { namesFiles: false, isWithoutTorch: true };
  const again = phaseOf({ before: note(40), after: note(40), endedBy: 'kill', ...printed(1, 20) });

  it.each([[[phaseOf({})]], [[phaseOf({ otherFiles: ['out/ckpt.npz'] })]], [[first, again, again]]])(
    'gets no remedy of PyTorch',
    (phases) => {
      const { remedy } = findingOf(phases, script);
      expect(remedy).not.toContain('automatic');
      expect(remedy).not.toBe('');
    },
  );
});

describe('a resumption', () => {
  const cost = tryCost('g5.xlarge', 'us-east-1', undefined);
  const reported = (...phases: Phase[]) => reportOf('train.py', phases, findingOf(phases), cost).join('\n');

  it('that ends with an error says so', () => {
    const crashed = phaseOf({
      before: note(112),
      atStrike: note(112),
      after: note(112),
      endedBy: 'itself',
      exitCode: 1,
      seconds: 40.7,
      sinceSaveSeconds: 40.7,
      failure: 'train.py ended with exit code 1',
      ...printed(1, 1),
    });
    const text = reported(first, crashed);
    expect(text).toContain('resumed    from step 112: ended by itself with 1 after 40.7 s');
    expect(text).not.toMatch(/began again|kill/);
  });

  it('with a declared step that stands is not ready', () => {
    const still = (over: Partial<Phase>) => phaseOf({ after: note(0), firstNew: note(0), saves: 3, ...over });
    const phases = [
      still(printed(1, 120)),
      still({ before: note(0), endedBy: 'kill', ...printed(101, 220) }),
      still({ before: note(0), endedBy: 'kill', ...printed(201, 320) }),
    ];
    expect(findingOf(phases).verdict).toBe('ready');
    const { verdict, remedy } = findingOf(phases, { namesFiles: true, isWithoutTorch: false });
    expect(verdict).toBe('the declared step does not move');
    expect(remedy).toContain('it stayed 0');
  });
});

describe('the verdict', () => {
  it.each([
    ['hangs', phaseOf({ scriptLines: 0, cpuSeconds: 0.3 })],
    // A start of Python on a busy machine.
    ['hangs', phaseOf({ scriptLines: 0, cpuSeconds: 1.4 })],
    ['saves nothing', phaseOf({ scriptLines: 0, cpuSeconds: 9 })],
    ['fails', phaseOf({ endedBy: 'itself', exitCode: 1 })],
    ['ends before anything can be interrupted', phaseOf({ endedBy: 'itself', exitCode: 0 })],
    ['ends before anything can be interrupted', phaseOf({ endedBy: 'itself', exitCode: 0, after: note(9) })],
  ])('%s', (verdict, phase) => {
    expect(findingOf([phase]).verdict).toBe(verdict);
  });
});

describe('the lines of a start', () => {
  const readAll = (...lines: string[]) => {
    const reader = outputReader();
    for (const line of lines) reader.read(line);
    return reader.seen();
  };
  const RESTORED = 'tidewheel: restored after step 367: training goes on';
  const WHY = 'it used a tensor that was not restored';

  it.each([
    ['[tidewheel] resumable from step-00000367, step 367', 0, undefined],
    ['tidewheel: resuming: steps 1 to 367 are done and are not repeated', 0, undefined],
    [RESTORED, 0, 367],
    ['tidewheel step=120 loss=0.1', 1, undefined],
    ['step 3 of the tidewheel', 1, undefined],
  ])('of "%s" may be of Tidewheel', (line, scriptLines, restoredStep) => {
    expect(readAll(line)).toMatchObject({ scriptLines, restoredStep });
  });

  it.each(['step 0', 'epoch 1', 'step 2.5'])(
    'that announce a checkpoint prove no resumption at %s',
    (begun) => {
      const seen = readAll(
        '=> resumed from last.pt at step 40',
        "could not load the optimizer KeyError('optimizer')",
        'step 5 loss 1.2',
        `[tidewheel] WARNING: the script began at ${begun}, although last.pt was there (step 40): it has to load it`,
      );
      const phase = phaseOf({ before: note(40), ...seen });
      expect(wasRestored(phaseOf(printed(1, 40)), phase)).toBe('no');
      expect(seen.beganAgainAt).toBe(begun);
    },
  );

  it('of an installation are not the script’s', () => {
    const installing = [
      '[tidewheel] installing requirements.txt (attempt 1 of 3)',
      'Collecting torch',
      'step 7',
    ];
    expect(readAll(...installing)).toMatchObject({ hasStarted: false, scriptLines: 0, printed: undefined });
    const installed = [...installing, '[tidewheel] installed requirements.txt'];
    expect(readAll(...installed, 'step 1')).toMatchObject({
      hasStarted: true,
      scriptLines: 1,
      printed: { first: 1 },
    });
    expect(readAll('[tidewheel] cannot start: train.py is not in the source')).toMatchObject({
      hasStarted: false,
    });
  });

  it.each([
    [`train.py begins again without automatic checkpoints: ${WHY}`, WHY],
    ['train.py begins again without the hooks that measure: TypeError', undefined],
    [`last.pt may be damaged: ${WHY}; trying once with epoch-2.pt`, undefined],
  ])('after "%s" count alone', (line, refusal) => {
    const seen = readAll(RESTORED, 'step 368', `[tidewheel] ${line}`, 'step 3', 'step 4');
    expect(seen).toMatchObject({ refusal, restoredStep: undefined, printed: { first: 3, last: 4 } });
  });

  it.each([
    `[tidewheel] automatic checkpoints are off in this run: ${WHY}`,
    `[tidewheel] trial of automatic checkpoints at step 173, 6 s: refused: ${WHY}`,
    `tidewheel: no automatic checkpoints from step 374 on: ${WHY}`,
    `tidewheel: no automatic checkpoints: ${WHY}`,
  ])('end automatic saving with "%s"', (line) => {
    expect(readAll(RESTORED, line)).toMatchObject({ refusal: WHY, restoredStep: 367 });
    expect(
      readAll('[tidewheel] trial of automatic checkpoints at step 9, 6 s: passed').refusal,
    ).toBeUndefined();
  });
});

describe('printed steps', () => {
  const seenIn = (lines: readonly string[], pattern?: string) => {
    const reader = outputReader(pattern);
    for (const line of lines) reader.read(line);
    return reader.seen().printed;
  };

  it.each([
    [['step 3 loss 1.0', 'step 4 loss 0.9'], { word: 'step', first: 3, last: 4 }],
    [['iter 20: loss 2', 'iter 30: loss 1', 'epoch 0'], { word: 'iter', first: 20, last: 30 }],
    [["{'epoch': 3, 'loss': 1}"], { word: 'epoch', first: 3, last: 3 }],
    [['Epoch: [0][ 10/1251]'], { word: 'epoch', first: 0, last: 0 }],
    [['epochs=20, lr=0.1', '"steps": 900,', 'epoch 1 loss 2'], { word: 'epoch', first: 1, last: 1 }],
    [['nothing here', 'stepping 3'], undefined],
  ])('%j', (lines, steps) => {
    expect(seenIn(lines)).toEqual(steps);
  });

  it('follow the declared pattern', () => {
    expect(seenIn(['batch 7 done', 'step 1'], 'batch (?P<step>\\d+)')).toEqual({
      word: 'step',
      first: 7,
      last: 7,
    });
  });
});
