import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { describe, expect, it } from 'vitest';
import { drawKill } from '../../../../bench/scripts/kills.ts';

const draw = (seed: string, savesInTime = true) => {
  const random = seededUniform(seed);
  return Array.from({ length: 200 }, () => drawKill(random, 60, savesInTime));
};

describe('the moments of kills', () => {
  it('are the same for the same seed', () => {
    expect(draw('1 mnist')).toEqual(draw('1 mnist'));
    expect(draw('1 mnist')).not.toEqual(draw('2 mnist'));
  });

  it('mostly follow a checkpoint within seconds', () => {
    const kills = draw('1 mnist');
    const after = kills.filter((kill) => kill.after === 'checkpoint');
    expect(after.length).toBeGreaterThan(140);
    expect(Math.max(...after.map(({ seconds }) => seconds))).toBeLessThan(6);
    const others = kills.filter((kill) => kill.after === 'start');
    expect(Math.max(...others.map(({ seconds }) => seconds))).toBeGreaterThan(50);
    expect(Math.min(...others.map(({ seconds }) => seconds))).toBeLessThan(10);
  });

  it('come sooner in a short training', () => {
    const random = seededUniform('1 mnist');
    const kills = Array.from({ length: 50 }, () => drawKill(random, 10, true));
    const after = kills.filter((kill) => kill.after === 'checkpoint');
    expect(Math.max(...after.map(({ seconds }) => seconds))).toBeLessThan(2);
  });

  it('need no checkpoint after an undisturbed training', () => {
    expect(draw('1 mnist', false).every((kill) => kill.after === 'start')).toBe(true);
  });
});
