import os
import signal

print("Epoch 3/10", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
