/** Which combinations a probe tries. */
import { describe, expect, it } from 'vitest';
import { cellsOf, gridProblem, varyProblem } from '../../../../cli/probe/grid.ts';

describe('the combinations', () => {
  it('hold every value with every other', () => {
    expect(cellsOf(['training.strategy=ddp,mpi', 'num_workers=2,4']).map(({ name }) => name)).toEqual([
      'training.strategy=ddp num_workers=2',
      'training.strategy=ddp num_workers=4',
      'training.strategy=mpi num_workers=2',
      'training.strategy=mpi num_workers=4',
    ]);
  });

  it('change hyperparameters, variables and fields by their paths', () => {
    const [first] = cellsOf(['num_workers=2,4', 'training.environment.OMP_NUM_THREADS=1', 'compute.nodes=2']);
    expect(first?.change).toEqual({
      training: { hyperparameters: { num_workers: 2 }, environment: { OMP_NUM_THREADS: '1' } },
      compute: { nodes: 2 },
    });
  });

  it('make a list of each instance type', () => {
    expect(cellsOf(['compute.instanceTypes=g5.xlarge,[c5.xlarge,c5.2xlarge]'])).toEqual([
      {
        name: 'compute.instanceTypes=[g5.xlarge]',
        assignments: ['compute.instanceTypes=[g5.xlarge]'],
        change: { compute: { instanceTypes: ['g5.xlarge'] } },
      },
      {
        name: 'compute.instanceTypes=[c5.xlarge,c5.2xlarge]',
        assignments: ['compute.instanceTypes=[c5.xlarge,c5.2xlarge]'],
        change: { compute: { instanceTypes: ['c5.xlarge', 'c5.2xlarge'] } },
      },
    ]);
  });
});

describe('words that name none', () => {
  it.each([
    ['lr', /NAME=VALUE/],
    ['=1,2', /NAME=VALUE/],
    ['lr=1,1', /twice/],
    ['lr=1,,2', /empty/],
  ])('%s is refused', (text, message) => {
    expect(varyProblem(text)).toMatch(message);
  });

  it('a single combination is nothing to compare', () => {
    expect(gridProblem(['lr=1'])).toMatch(/one combination/);
    expect(gridProblem(['lr=1', 'lr=2'])).toMatch(/twice/);
    expect(gridProblem(['a=1,2,3,4,5', 'b=1,2,3,4,5'])).toMatch(/25 combinations/);
    expect(gridProblem(['lr=1,2'])).toBeUndefined();
  });
});
