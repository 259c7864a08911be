/* The system call that the walker executes to copy the process. */
  .globl fault_gadget
fault_gadget:
  syscall
  int3
  .section .note.GNU-stack, "", @progbits
