// each thread runs one of several programs of a small stack machine: a dense switch in a loop, a stack of the thread's own.
// A word is an instruction in its low byte and an operand above
extern "C" __global__ void stack_machine(const int* code, const int* start, const long long* input, long long* result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long stack[16];
  int top = 0, fuel = 1000;
  for (int pc = start[i]; fuel > 0; --fuel) {
    int word = code[pc++], operand = word >> 8;
    switch (word & 0xff) {
      case 0: result[i] = stack[top - 1]; return;
      case 1: stack[top++] = operand; break;
      case 2: stack[top++] = input[i]; break;
      case 3: stack[top] = stack[top - 1]; ++top; break;
      case 4: --top; stack[top - 1] += stack[top]; break;
      case 5: --top; stack[top - 1] -= stack[top]; break;
      case 6: --top; stack[top - 1] *= stack[top]; break;
      case 7: --top; stack[top - 1] = stack[top] ? stack[top - 1] / stack[top] : 0; break;
      case 8: stack[top - 1] >>= operand; break;
      case 9: --top; stack[top - 1] ^= stack[top]; break;
      case 10: { long long t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; break; }
      case 11: if (stack[--top] > 0) pc += operand; break;
      case 12: pc += operand; break;
      case 13: stack[top] = stack[top - 1 - operand]; ++top; break;
      case 14: --top; stack[top - 1 - operand] = stack[top]; break;
      case 15: stack[top - 1] = -stack[top - 1]; break;
    }
  }
  result[i] = -1;
}
