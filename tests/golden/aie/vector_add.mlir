module {
  aie.device(npu2) {
    %shim_0_0 = aie.tile(0, 0)
    %shim_1_0 = aie.tile(1, 0)
    %shim_2_0 = aie.tile(2, 0)
    %shim_3_0 = aie.tile(3, 0)
    %core_0_2 = aie.tile(0, 2)
    %core_1_2 = aie.tile(1, 2)
    %core_2_2 = aie.tile(2, 2)
    %core_3_2 = aie.tile(3, 2)
    aie.objectfifo @x_0(%shim_0_0, {%core_0_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @x_1(%shim_1_0, {%core_1_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @x_2(%shim_2_0, {%core_2_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @x_3(%shim_3_0, {%core_3_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_0(%shim_0_0, {%core_0_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_1(%shim_1_0, {%core_1_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_2(%shim_2_0, {%core_2_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @y_3(%shim_3_0, {%core_3_2}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @z_out_0(%core_0_2, {%shim_0_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @z_out_1(%core_1_2, {%shim_1_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @z_out_2(%core_2_2, {%shim_2_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.objectfifo @z_out_3(%core_3_2, {%shim_3_0}, 2 : i32) : !aie.objectfifo<memref<256xf32>>
    aie.core(%core_0_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_0(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_0(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_2 = aie.objectfifo.acquire @z_out_0(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %z_out = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c16 step %c1 {
          %at = arith.muli %i, %c16 : index
          %x_1 = vector.load %x[%at] : memref<256xf32>, vector<16xf32>
          %x_2 = vector.load %y[%at] : memref<256xf32>, vector<16xf32>
          %add = arith.addf %x_1, %x_2 : vector<16xf32>
          vector.store %add, %z_out[%at] : memref<256xf32>, vector<16xf32>
        }
        aie.objectfifo.release @x_0(Consume, 1)
        aie.objectfifo.release @y_0(Consume, 1)
        aie.objectfifo.release @z_out_0(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    aie.core(%core_1_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_1(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_1(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_2 = aie.objectfifo.acquire @z_out_1(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %z_out = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c16 step %c1 {
          %at = arith.muli %i, %c16 : index
          %x_1 = vector.load %x[%at] : memref<256xf32>, vector<16xf32>
          %x_2 = vector.load %y[%at] : memref<256xf32>, vector<16xf32>
          %add = arith.addf %x_1, %x_2 : vector<16xf32>
          vector.store %add, %z_out[%at] : memref<256xf32>, vector<16xf32>
        }
        aie.objectfifo.release @x_1(Consume, 1)
        aie.objectfifo.release @y_1(Consume, 1)
        aie.objectfifo.release @z_out_1(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    aie.core(%core_2_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_2(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_2(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_2 = aie.objectfifo.acquire @z_out_2(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %z_out = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c16 step %c1 {
          %at = arith.muli %i, %c16 : index
          %x_1 = vector.load %x[%at] : memref<256xf32>, vector<16xf32>
          %x_2 = vector.load %y[%at] : memref<256xf32>, vector<16xf32>
          %add = arith.addf %x_1, %x_2 : vector<16xf32>
          vector.store %add, %z_out[%at] : memref<256xf32>, vector<16xf32>
        }
        aie.objectfifo.release @x_2(Consume, 1)
        aie.objectfifo.release @y_2(Consume, 1)
        aie.objectfifo.release @z_out_2(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    aie.core(%core_3_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @x_3(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %x = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_1 = aie.objectfifo.acquire @y_3(Consume, 1) : !aie.objectfifosubview<memref<256xf32>>
        %y = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        %taken_2 = aie.objectfifo.acquire @z_out_3(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %z_out = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c16 step %c1 {
          %at = arith.muli %i, %c16 : index
          %x_1 = vector.load %x[%at] : memref<256xf32>, vector<16xf32>
          %x_2 = vector.load %y[%at] : memref<256xf32>, vector<16xf32>
          %add = arith.addf %x_1, %x_2 : vector<16xf32>
          vector.store %add, %z_out[%at] : memref<256xf32>, vector<16xf32>
        }
        aie.objectfifo.release @x_3(Consume, 1)
        aie.objectfifo.release @y_3(Consume, 1)
        aie.objectfifo.release @z_out_3(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    aie.runtime_sequence(%x_host: memref<1024xf32>, %y_host: memref<1024xf32>, %z_host: memref<1024xf32>) {
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_0} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_1} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 512][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_2} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%x_host[0, 0, 0, 768][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @x_3} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_0} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_1} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 512][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_2} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%y_host[0, 0, 0, 768][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y_3} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%z_host[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, issue_token = true, metadata = @z_out_0} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%z_host[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, issue_token = true, metadata = @z_out_1} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%z_host[0, 0, 0, 512][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, issue_token = true, metadata = @z_out_2} : memref<1024xf32>
      aiex.npu.dma_memcpy_nd(%z_host[0, 0, 0, 768][1, 1, 1, 256][0, 0, 0, 1]) {id = 2 : i64, issue_token = true, metadata = @z_out_3} : memref<1024xf32>
      aiex.npu.dma_wait {symbol = @x_0}
      aiex.npu.dma_wait {symbol = @x_1}
      aiex.npu.dma_wait {symbol = @x_2}
      aiex.npu.dma_wait {symbol = @x_3}
      aiex.npu.dma_wait {symbol = @y_0}
      aiex.npu.dma_wait {symbol = @y_1}
      aiex.npu.dma_wait {symbol = @y_2}
      aiex.npu.dma_wait {symbol = @y_3}
      aiex.npu.dma_wait {symbol = @z_out_0}
      aiex.npu.dma_wait {symbol = @z_out_1}
      aiex.npu.dma_wait {symbol = @z_out_2}
      aiex.npu.dma_wait {symbol = @z_out_3}
    }
  }
}
